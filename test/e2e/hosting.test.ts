import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { setDefaultCACertificates } from "node:tls";

import { AcpSocket } from "../support/acp-socket.ts";
import { noNginx, Nginx } from "../support/nginx.ts";
import { GuardedHome } from "../support/guarded-gateway.ts";
import { noOtherUser } from "../support/other-user.ts";
import { TestCa } from "../support/quic-certificates.ts";
import { SharedProgram } from "../support/shared-program.ts";

const ROOT = join(import.meta.dirname, "../..");
const DOCUMENT = readFileSync(join(ROOT, "docs/HOSTING.md"), "utf8");

/** The examples of the document in a language. */
function examples(language: string): string[] {
  const all = DOCUMENT.matchAll(/^```(\w*)\n(.*?)^```$/gms);
  return Array.from(all)
    .filter(([, name]) => name === language)
    .map(([, , text = ""]) => text);
}

/** Commands that cannot run here, and why. */
const NOT_RUN: readonly [RegExp, string][] = [
  [/^systemctl |^journalctl /, "systemd is not running here; the unit is checked below"],
  [/^git -C \/opt\/trunkline pull$/, "there is nothing to pull from; fresh-clone.test.ts clones"],
  [/^docker /, "container.test.ts of test/interop follows it with buildah and podman"],
  [/^npm --prefix \/opt\/trunkline run build$/, "it is what builds the program of every e2e test"],
];

const noBubblewrap = noOtherUser || without("bwrap");

const commands = examples("sh").flatMap((block) => block.trimEnd().split("\n"));

describe("docs/HOSTING.md", { timeout: 600_000 }, () => {
  let certificate: { readonly cert: string; readonly key: string };
  before(async () => {
    const ca = await TestCa.make("P-256");
    setDefaultCACertificates([ca.pem]);
    const { cert = "", key = "" } = await ca.issue("localhost");
    certificate = { cert, key };
  });

  it("has commands that work one after another on a fresh machine", { skip: noOtherUser }, () => {
    const run = commands
      .filter((line) => !NOT_RUN.some(([shape]) => shape.test(line)))
      // It gives up slow checks after some seconds, which a busy machine needs for any.
      .map((line) => line.replace(/ doctor$/, " doctor --deep"));
    assert.ok(run.length >= 9, run.join("\n"));
    using program = new SharedProgram();
    const [etc, root] = [program.at("etc"), program.at("root")];
    for (const folder of [etc, root]) mkdirSync(folder);
    // The mounts are in the script's own namespace, and end with it.
    const machine = `set -eu
      mount --make-rprivate /
      cp -a /etc/. '${etc}' && mount --bind '${etc}' /etc
      mount --bind '${program.root}' '${root}'
      for each in /opt /var/lib /var/backups; do mkdir -p $each; mount -t tmpfs tmpfs $each; done
      mkdir /opt/trunkline && mount --move '${root}' /opt/trunkline
      cd /`;
    const { status, stderr, stdout } = spawnSync(
      "unshare",
      ["--mount", "bash", "-c", [machine, "set -x", ...run].join("\n")],
      { encoding: "utf8", env: { PATH: process.env.PATH } },
    );
    assert.equal(status, 0, stderr);
    assert.match(stdout, /^tlk_/m);
    // As an unprivileged user, like the service.
    if (!noBubblewrap) assert.match(stdout, /^ok {3}Remote runs: bubblewrap: /m);
  });

  it("has a unit that systemd accepts", { skip: without("systemd-analyze") }, () => {
    const [unit = ""] = examples("ini");
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-unit-"));
    const file = join(folder.path, "trunkline.service");
    writeFileSync(file, unit.replace("/opt/trunkline", ROOT));
    const { status, stderr } = spawnSync("systemd-analyze", ["verify", file], { encoding: "utf8" });
    assert.equal(status, 0, stderr);
    const said = stderr.split("\n").filter((line) => line.includes("trunkline.service"));
    // The document says which systemd it needs.
    const unknown = said.filter((line) => !/Unknown key.*'DelegateSubgroup'/.test(line));
    assert.deepEqual(unknown, []);
  });

  it("has no directive in the unit that breaks bubblewrap", { skip: noBubblewrap }, () => {
    const [unit = ""] = examples("ini");
    const breaking = [...DOCUMENT.matchAll(/^\| (`\w+=.*?) \|/gm)].flatMap(([, cell = ""]) =>
      Array.from(cell.matchAll(/`(\w+)=/g), ([, name = ""]) => name),
    );
    assert.ok(breaking.length >= 8);
    const meant = breaking.filter((name) => new RegExp(`^${name}=`, "m").test(unit));
    // The families in the unit contain the one that is needed.
    assert.deepEqual(meant, ["RestrictAddressFamilies"]);
    const bwrap =
      "setpriv --reuid=65534 --regid=65534 --clear-groups --no-new-privs --bounding-set=-all " +
      "bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev true";
    const works = (first: string): boolean => {
      const script = `mount --make-rprivate / && ${first} && ${bwrap}`;
      return spawnSync("unshare", ["--mount", "sh", "-c", script]).status === 0;
    };
    assert.ok(works("true"), "NoNewPrivileges, CapabilityBoundingSet");
    assert.ok(works("mount -o remount,ro,bind /"), "ProtectSystem");
    const readOnly = "mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys";
    assert.ok(!works(readOnly), "ProtectKernelTunables");
    assert.ok(!works("mount --bind /dev/null /proc/kmsg"), "ProtectKernelLogs");
  });

  it("has a TLS configuration with which wss works", async () => {
    const [own = ""] = examples("jsonc");
    using home = new GuardedHome();
    const files = { fullchain: certificate.cert, privkey: certificate.key };
    for (const [name, text] of Object.entries(files)) home.write(`${name}.pem`, text);
    home.write("config.jsonc", own.replaceAll("/etc/trunkline", home.path));
    await using gateway = await home.serve("--port", "0");
    using client = await AcpSocket.connect(`wss://localhost:${gateway.port}/acp`, gateway.owner);
    assert.ok(client.messages.length > 0);
  });

  it("has an nginx configuration with which wss works", { skip: noNginx }, async () => {
    const [, behind = ""] = examples("jsonc");
    const [settings = ""] = examples("nginx");
    using home = new GuardedHome();
    home.write("config.jsonc", behind);
    for (const [name, text] of [
      ["fullchain", certificate.cert],
      ["privkey", certificate.key],
    ] as const) {
      home.write(`${name}.pem`, text);
    }
    await using gateway = await home.serve("--port", "0");
    const here = settings
      .replaceAll("/etc/trunkline", home.path)
      .replace("127.0.0.1:4180", `127.0.0.1:${gateway.port}`);
    await using nginx = await Nginx.start((port) =>
      here.replace("listen 443 ssl", `listen 127.0.0.1:${port} ssl`),
    );
    const url = `wss://localhost:${nginx.port}/acp`;
    using client = await AcpSocket.connect(url, gateway.owner);
    assert.ok(client.messages.length > 0);
    await assert.rejects(AcpSocket.connect(url), /401/);
  });
});

function without(command: string): string | false {
  return spawnSync(command, ["--version"]).error === undefined ? false : `needs ${command}`;
}
