import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { systemProgram } from "../../src/sandbox/remedy.ts";
import { noOtherUser } from "../support/other-user.ts";
import { until } from "../support/until.ts";

const ROOT = join(import.meta.dirname, "../..");
const FOLDER = join(ROOT, ".cache/container");
const BASE = join(FOLDER, "base.tar");
const DOCKERFILE = readFileSync(join(ROOT, "deploy/container/Dockerfile"), "utf8");
const GUIDE = readFileSync(join(ROOT, "docs/HOSTING.md"), "utf8");

const PROGRAMS = ["mmdebstrap", "buildah", "podman", "crun", "unshare"];
const missing = PROGRAMS.filter((name) => systemProgram(name) === undefined);
const skip =
  noOtherUser ||
  (missing.length > 0 && `Install: sudo apt-get install ${missing.join(" ")} (${missing.length})`);

/** Images and containers of this test only. */
const STORE = ["--root", join(FOLDER, "store"), "--runroot", join(FOLDER, "running")];

/** crun refuses where both versions of control groups are there, so the second is left out in its mounts. */
const ALONE = ["--mount", "sh", "-c", 'umount /sys/fs/cgroup/unified 2>/dev/null; exec "$@"', "sh"];

/** The options of the guide's `docker run`, as Podman has them. */
function guideOptions(): string[] {
  const [, words = ""] = /^docker run .*?(--cap-drop .*) trunkline$/m.exec(GUIDE) ?? [];
  return words.split(" ").flatMap((word) => {
    if (word === "--security-opt" || word.startsWith("apparmor=")) return [];
    if (word === "systempaths=unconfined") return ["--security-opt=unmask=ALL"];
    if (word.startsWith("seccomp=")) return [`--security-opt=seccomp=${join(ROOT, word.slice(8))}`];
    return word === "no-new-privileges" ? ["--security-opt=no-new-privileges"] : [word];
  });
}

function podman(...words: string[]) {
  const all = [...ALONE, "podman", ...STORE, ...words];
  return spawnSync("unshare", all, { encoding: "utf8", timeout: 600_000 });
}

/** Options of this machine: without CAP_SYS_RESOURCE it may not raise limits, and needs no control groups. */
const HERE = ["--ulimit=nofile=4096:4096", "--ulimit=nproc=4096:4096", "--cgroups=disabled"];

/** Runs a shell command in a container of the image. */
function inside(options: readonly string[], command: string) {
  const agent = `${join(FOLDER, "context/acp-agent.mjs")}:/agent.mjs:ro`;
  const run = ["run", "--rm", "--network=none", `--volume=${agent}`, ...HERE, ...options];
  return podman(...run, "--entrypoint=sh", "localhost/trunkline", "-c", command);
}

const DOCTOR = "trunkline doctor --json </dev/null";
const RUN = `set -e
  mkdir app && cd app && git init --quiet && echo first > file.txt
  git add . && git -c user.name=Ida -c user.email=ida@example.com commit --quiet --message First
  node=/opt/trunkline/node_modules/.bin/node
  trunkline run . "put new.txt|new|0" --agent s --set agents.s="{\\"command\\":\\"$node\\",\\"args\\":[\\"/agent.mjs\\"]}" > said
  git show "$(tail --lines 1 said):new.txt"`;

interface Report {
  readonly findings: readonly { readonly says: string; readonly state: string; next?: string }[];
}

describe("the image of deploy/container", { skip, timeout: 3_600_000 }, () => {
  before(() => {
    const context = join(FOLDER, "context");
    rmSync(context, { recursive: true, force: true });
    mkdirSync(context, { recursive: true });
    if (!existsSync(BASE)) {
      const packages = "--include=ca-certificates";
      execFileSync("mmdebstrap", ["--variant=minbase", packages, "bookworm", BASE]);
    }
    // No registry can be reached here, so the first stage is done by this machine, which has built already.
    const [, gather = ""] = /^RUN (mkdir -p \/out[^]*?)\n\nFROM/m.exec(DOCKERFILE) ?? [];
    execFileSync("sh", ["-ec", gather.replaceAll("/out", join(context, "out"))], { cwd: ROOT });
    const last = DOCKERFILE.slice(DOCKERFILE.indexOf("FROM ${BASE}"));
    writeFileSync(
      join(context, "Dockerfile"),
      `ARG BASE\n${last.replace("COPY --from=build /out", "COPY out")}`,
    );
    cpSync(join(ROOT, "test/support/acp-agent.mjs"), join(context, "acp-agent.mjs"));
    execFileSync("podman", [...STORE, "import", "--quiet", BASE, "localhost/base"]);
    const build = ["bud", "--quiet", "--isolation=chroot", "--build-arg=BASE=localhost/base"];
    execFileSync("buildah", [...STORE, ...build, "--tag=localhost/trunkline", context]);
  });

  after(() => {
    execFileSync("podman", [...STORE, "rmi", "--all", "--force"], { stdio: "ignore" });
    execFileSync("unshare", [
      "--mount",
      "rm",
      "-rf",
      join(FOLDER, "store"),
      join(FOLDER, "context"),
    ]);
  });

  it("runs agents in a sandbox with the options of the guide, and no right of root", () => {
    const options = guideOptions();
    assert.equal(options.length, 5, options.join(" "));
    const doctor = inside(options, DOCTOR);
    const { findings } = JSON.parse(doctor.stdout) as Report;
    assert.equal(findings.find(({ says }) => says.startsWith("bubblewrap: "))?.state, "ok");
    const { stdout, stderr } = inside(options, RUN);
    assert.equal(stdout, "new\n", stderr);
  });

  it("serves as the guide starts it, and answers the guide's commands", async () => {
    const run = ["run", "--detach", "--name=trunkline", "--network=none", ...HERE];
    const started = podman(...run, ...guideOptions(), "localhost/trunkline");
    assert.equal(started.status, 0, started.stderr);
    try {
      const health =
        "fetch('http://127.0.0.1:4180/healthz').then((it) => process.exit(it.ok ? 0 : 1))";
      const node = "/opt/trunkline/node_modules/.bin/node";
      await until(() => podman("exec", "trunkline", node, "-e", health).status === 0);
      const commands = [...GUIDE.matchAll(/^docker exec trunkline (trunkline .*)$/gm)];
      const said = commands.map((found) =>
        podman("exec", "trunkline", ...`${found[1]}`.split(" ")),
      );
      assert.equal(said.length, 2);
      const [doctor, token] = said;
      assert.match(`${doctor?.stdout}`, /bubblewrap: .*own processes/);
      assert.match(`${token?.stdout}${token?.stderr}`, /laptop/);
      assert.equal(token?.status, 0, `${token?.stderr}`);
    } finally {
      podman("rm", "--force", "trunkline");
    }
  });

  it("says what is missing without them", () => {
    const without = guideOptions().filter((option) => !option.includes("unmask"));
    const { findings } = JSON.parse(inside(without, DOCTOR).stdout) as Report;
    const bubblewrap = findings.find(({ says }) => says.startsWith("bubblewrap: "));
    assert.match(`${bubblewrap?.says}`, /Can't mount proc/);
    assert.match(`${bubblewrap?.next}`, /--security-opt unmask=ALL/);
    const { status, stderr } = inside(without, RUN);
    assert.equal(status, 1);
    assert.match(stderr, /Cannot run agents in a sandbox: .*--security-opt unmask=ALL/);
  });
});
