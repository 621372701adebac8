import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";

import { CommandSandbox, type FileRules } from "./command-sandbox.ts";
import { EgressProxy } from "./egress-proxy.ts";
import { systemProgram } from "./system-program.ts";
import { NODE_IS_HIDDEN } from "../../test/support/node-in-sandbox.ts";
import { until } from "../../test/support/until.ts";

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
const rules: { now: Partial<FileRules> } = { now: {} };
const files = (): FileRules => ({ write: [work], keep: [], hide: [], show: [], ...rules.now });
const bwrap = systemProgram("bwrap") ?? "";
const nsenter = systemProgram("nsenter") ?? "";
const options = { data, bwrap, nsenter, files, egress };
const opened = await CommandSandbox.open(options).catch((error: Error) => error.message);
const skip = typeof opened === "string" ? `No sandbox can be had here: ${opened}` : false;
if (skip !== false) await rm(folder, { recursive: true });

/** Runs a shell command, and returns its output. */
async function sh(line: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  assert.ok(typeof opened !== "string");
  const args = ["-c", `exec 2>&1; ${line}`];
  const wrapped = opened.wrap({
    command: "/bin/sh",
    args,
    env: { PATH: "/usr/bin:/bin", ...env },
    cwd: work,
  });
  const stdio = ["ignore", "pipe", "inherit"] as const;
  const child = spawn(wrapped.command, [...wrapped.args], { ...wrapped, stdio: [...stdio] });
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

  it("applies the nearest rule, also through links", async () => {
    const home = join(folder, "home");
    mkdirSync(join(home, "secret/open/kept"), { recursive: true });
    writeFileSync(join(home, "secret/word"), "word");
    writeFileSync(join(home, "plain"), "plain");
    symlinkSync(join(home, "secret"), join(home, "link"));
    rules.now = {
      show: [home],
      hide: [join(home, "link"), join(home, "plain"), join(home, "none")],
      write: [work, join(home, "secret/open")],
      keep: [join(home, "secret/open/kept")],
    };
    assert.match(await sh(`cat ${home}/link/word`), /No such file/);
    assert.equal(await sh(`cat ${home}/plain`), "");
    assert.match(await sh(`echo x > ${home}/secret/new`), /Read-only/);
    assert.equal(await sh(`echo x > ${home}/secret/open/new && cat ${home}/secret/open/new`), "x");
    assert.match(await sh(`echo x > ${home}/secret/open/kept/new`), /Read-only/);
    assert.equal(readFileSync(join(home, "plain"), "utf8"), "plain");
    rules.now = {};
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
    assert.equal(await sh("ls -A /run", { XDG_RUNTIME_DIR: "/run/user/1" }), "user");
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
    await using second = await CommandSandbox.open(options);
    assert.ok(second !== undefined);
    await until(() => !existsSync(abandoned));
    assert.equal(readdirSync(data).length, 2);
  });

  it("says why there is no sandbox", async () => {
    await assert.rejects(CommandSandbox.open({ ...options, bwrap: "/bin/false" }), {
      code: "unavailable",
      message: "Cannot create a network for a sandbox: bubblewrap ended with 1.",
    });
    await assert.rejects(CommandSandbox.open({ ...options, nsenter: "/bin/false" }), {
      message: "bubblewrap does not work here: it ended with 1",
    });
    assert.equal(readdirSync(data).length, 1);
  });
});
