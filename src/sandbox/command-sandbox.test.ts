import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, openSync, readdirSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";

import { type CommandSandbox, openCommandSandbox } from "./command-sandbox.ts";
import { EgressProxy } from "./egress-proxy.ts";
import type { Mount } from "./file-view.ts";
import { systemProgram } from "./remedy.ts";
import { NODE_IS_HIDDEN } from "../../test/support/node-in-sandbox.ts";
import { until } from "../../test/support/until.ts";
import { spawnWrapped } from "../../test/support/spawn-wrapped.ts";

const folder = await mkdtemp(join(tmpdir(), "command-sandbox-"));
const work = join(folder, "work");
const data = join(folder, "data");
mkdirSync(work);
const egress = new EgressProxy({
  allowHosts: [],
  setting: "`x`",
  permit: async (host) => host === "allowed.example",
  resolve: async () => ["192.0.2.1"],
});
const home = join(folder, "home");
mkdirSync(home);
const files = { read: [process.execPath], write: [work], also: [], hide: [] };
const user = {
  name: "ada",
  uid: process.getuid?.() ?? 0,
  gid: process.getgid?.() ?? 0,
  home: "/home/ada",
};
const bwrap = systemProgram("bwrap") ?? "";
const nsenter = systemProgram("nsenter") ?? "";
const options = { data, bwrap, nsenter, files, egress, user, home };
const opened = await openCommandSandbox(options).catch((error: Error) => error.message);
const skip = typeof opened === "string" ? `No sandbox can be had here: ${opened}` : false;
if (skip !== false) await rm(folder, { recursive: true });

interface In {
  readonly sandbox?: CommandSandbox;
  readonly env?: NodeJS.ProcessEnv;
  readonly mounts?: readonly Mount[];
  readonly hasNetwork?: boolean;
  /** What whoever started us left open. */
  readonly inherits?: readonly number[];
}

/** Runs a shell command, and returns its output. */
async function sh(line: string, options: In = {}): Promise<string> {
  const { sandbox, env, mounts, hasNetwork, inherits = [] } = options;
  assert.ok(typeof opened !== "string");
  const args = ["-c", `exec 2>&1; ${line}`];
  const variables = { PATH: "/usr/bin:/bin", ...env };
  const program = { command: "/bin/sh", args, env: variables, cwd: work };
  const wrapped = (sandbox ?? opened).wrap(program, mounts, hasNetwork);
  const child = spawnWrapped({ ...wrapped, files: [...(wrapped.files ?? []), ...inherits] });
  assert.ok(child.stdout !== null);
  const [out] = await Promise.all([text(child.stdout), once(child, "exit")]);
  return out.trim();
}

describe("CommandSandbox", { skip }, () => {
  after(async () => {
    if (typeof opened !== "string") await opened[Symbol.asyncDispose]();
    egress[Symbol.dispose]();
    assert.deepEqual(readdirSync(data), [], "nothing is left");
    await rm(folder, { recursive: true });
  });

  it("reaches the proxy, unless it is to have no network", async () => {
    const proxy = new URL(await sh("echo $HTTPS_PROXY"));
    const script = `require("net").connect(${proxy.port}, "${proxy.hostname}")
      .on("connect", () => process.exit(console.log("in"))).on("error", () => console.log("out"))`;
    const connect = `'${process.execPath}' -e '${script}'`;
    assert.equal(await sh(connect), "in");
    assert.equal(await sh(connect, { hasNetwork: false }), "out");
    assert.equal(await sh("env | grep -i _proxy", { hasNetwork: false }), "");
  });

  it("applies the nearest rule, and shows nothing else", async () => {
    const place = join(folder, "place");
    mkdirSync(join(place, "secret/open"), { recursive: true });
    mkdirSync(join(folder, "other"));
    writeFileSync(join(place, "secret/word"), "word");
    writeFileSync(join(place, "plain"), "plain");
    writeFileSync(join(place, "seen"), "seen");
    const own = {
      read: [place],
      hide: [join(place, "secret"), join(place, "plain"), join(place, "none")],
      write: [work, join(place, "secret/open")],
      also: [{ at: "/also/place", from: place, isWritable: true }],
    };
    await using sandbox = await openCommandSandbox({ ...options, files: own });
    const at = (line: string): Promise<string> => sh(line, { sandbox });
    assert.match(await at(`cat ${place}/secret/word`), /No such file/);
    assert.equal(await at(`cat ${place}/plain ${place}/seen`), "seen");
    assert.match(await at(`echo x > ${place}/secret/new`), /Read-only/);
    assert.match(await at(`echo x > ${place}/new`), /Read-only/);
    assert.equal(await at(`cd ${place}/secret/open && echo x > new && cat new`), "x");
    assert.equal(await at("cat /also/place/secret/word /also/place/plain 2>/dev/null; echo"), "");
    assert.match(await at("mv /also/place/secret /also/place/x"), /busy/);
    assert.equal(await at(`ls ${folder}`), "place\nwork");
  });

  it("mounts over what is there, and keeps the way to it in its place", async () => {
    mkdirSync(join(work, "deep/er/place"), { recursive: true });
    mkdirSync(join(folder, "other/in"), { recursive: true });
    const mounts = [
      { at: join(work, "deep/er/place"), from: join(folder, "other"), isWritable: true },
      { at: join(work, "deep/er/place/in"), from: join(folder, "other/in"), isWritable: false },
      { at: "/run/trunkline/x", from: join(folder, "other"), isWritable: false },
    ];
    assert.equal(await sh("echo x > deep/er/place/y; cat /run/trunkline/x/y", { mounts }), "x");
    assert.match(await sh("echo x > deep/er/place/in/y", { mounts }), /Read-only/);
    assert.match(await sh("mv deep deep2; mv deep/er er; rm -r deep", { mounts }), /busy[^]*busy/);
    assert.deepEqual(readdirSync(join(work, "deep/er/place")), []);
    symlinkSync(folder, join(work, "link"));
    const through = [{ at: join(work, "link"), from: join(folder, "other"), isWritable: true }];
    await assert.rejects(sh("true", { mounts: through }), /link' in a sandbox: it is a link/);
    const from = [{ at: join(work, "deep"), from: join(work, "link/other"), isWritable: true }];
    await assert.rejects(sh("true", { mounts: from }), /it leads to '.*other'/);
  });

  it("leaves no descriptor of the machine open", async () => {
    const shown = "readlink /proc/self/fd/*; cat /proc/$$/fdinfo/3";
    const out = await sh(shown, {
      inherits: [openSync("/", "r"), openSync(process.execPath, "r")],
    });
    assert.match(out, /^\/dev\/null\n.+\n.+\ncat: .*: No such file or directory$/);
  });

  it("shows no other processes, has no capabilities, and cannot get any", async () => {
    assert.ok(Number(await sh("ls /proc | grep -c '^[0-9]'")) < 8);
    const status = await sh("grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status");
    assert.match(status, /CapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2/);
    assert.match(await sh("unshare -U true; unshare -n true"), /failed.*\n.*failed/);
    assert.match(await sh("nsenter --net=/proc/1/ns/net true"), /failed|denied|not permitted/);
  });

  it("hides the sockets of programs outside", { skip: NODE_IS_HIDDEN }, async () => {
    const path = join(folder, "socket");
    const server = createServer((socket) => socket.end("reached")).listen(path);
    const abstract = createServer((socket) => socket.end("reached")).listen(`\0${path}`);
    await Promise.all([once(server, "listening"), once(abstract, "listening")]);
    const connect = (name: string): string =>
      `${process.execPath} -e 'net.connect(${name}).on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`;
    assert.equal(await sh(connect(`"${path}"`)), "ENOENT");
    assert.equal(await sh(connect(`"\\0${path}"`)), "ECONNREFUSED");
    assert.equal(await sh("ls -A /run"), "");
    server.close();
    abstract.close();
  });

  it(
    "has one network for all commands, with only the proxy in it",
    { skip: NODE_IS_HIDDEN },
    async () => {
      const outside = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
      await once(outside, "listening");
      const { port } = outside.address() as AddressInfo;
      const get = (url: string): string =>
        `${process.execPath} -e 'fetch("${url}").then((it) => it.text(), (e) => String(e.cause.code)).then(console.log)'`;
      assert.equal(await sh(get(`http://127.0.0.1:${port}/`)), "ECONNREFUSED");
      assert.match(await sh(get("http://other.example/")), /refuses .*'other\.example'.*`x`/);
      assert.match(await sh(get("http://allowed.example/")), /resolves to 192\.0\.2\.1/);
      assert.equal(await sh("readlink /proc/self/ns/net"), await sh("readlink /proc/self/ns/net"));
      outside.close();
    },
  );

  it("removes the folders of killed processes, and not those of running ones", async () => {
    // Of a process that had our number before.
    const abandoned = join(data, `commands-${process.pid}-1-x`);
    mkdirSync(join(abandoned, "tmp"), { recursive: true });
    await using second = await openCommandSandbox(options);
    assert.ok(second !== undefined);
    await until(() => !existsSync(abandoned));
    assert.equal(readdirSync(data).length, 2);
  });

  it("says why there is no sandbox", async () => {
    await assert.rejects(openCommandSandbox({ ...options, bwrap: "/bin/false" }), {
      code: "unavailable",
      message: "Cannot create a network for a sandbox: bubblewrap ended with 1.",
    });
    await assert.rejects(openCommandSandbox({ ...options, nsenter: "/bin/false" }), {
      message: "bubblewrap does not work here: it ended with 1",
    });
    assert.equal(readdirSync(data).length, 1);
  });
});
