import assert from "node:assert/strict";
import { closeSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, describe, it } from "node:test";

import { EgressProxy } from "./egress-proxy.ts";
import { probeSandbox } from "./probe.ts";
import { makeSettings } from "./sandbox-folder.ts";
import { openSandbox, type Sandbox, type SandboxOptions } from "./sandbox.ts";
import { spawnWrapped } from "../../test/support/spawn-wrapped.ts";

const folder = await mkdtemp(join(tmpdir(), "sandbox-"));
const { parts, findings } = await probeSandbox(join(folder, "data"));
const missing = findings.find(({ isInForce }) => !isInForce);
const skip = parts === undefined ? `No sandbox can be had here: ${missing?.detail}` : false;
const isRoot = process.getuid?.() === 0;

async function open(options: Partial<SandboxOptions> = {}): Promise<Rig> {
  assert.ok(parts !== undefined);
  const workspace = await mkdtemp(join(folder, "work-"));
  const { user } = options;
  if (user !== undefined) await chown(workspace, user.uid, user.gid);
  const data = join(folder, "data");
  const common = { name: "test", data, parts, write: [workspace], read: [] };
  return new Rig(await openSandbox({ ...common, ...options }), workspace);
}

class Rig implements AsyncDisposable {
  readonly sandbox: Sandbox;
  readonly workspace: string;

  constructor(sandbox: Sandbox, workspace: string) {
    this.sandbox = sandbox;
    this.workspace = workspace;
  }

  /** Runs a shell command in the sandbox, and returns its output and exit code. */
  async sh(line: string, more = {}): Promise<{ code: number | null; out: string }> {
    const program = { command: "/bin/sh", args: ["-c", `exec 2>&1; ${line}`] };
    const env = { PATH: "/usr/local/bin:/usr/bin:/bin", ...more };
    const wrapped = this.sandbox.wrap({ ...program, env, cwd: this.workspace });
    const { takes } = wrapped;
    const child = spawnWrapped(wrapped, takes !== undefined);
    child.on("message", (_, listener) => {
      takes?.(listener);
      child.send("served", () => {});
    });
    assert.ok(child.stdout !== null);
    const [out, [code]] = await Promise.all([text(child.stdout), once(child, "exit")]);
    return { code: code as number | null, out: out.trim() };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.sandbox[Symbol.asyncDispose]();
    await rm(this.workspace, { recursive: true, force: true });
  }
}

if (skip !== false) await rm(folder, { recursive: true });

describe("openSandbox()", { skip }, () => {
  after(() => rm(folder, { recursive: true }));

  it("shows the same files at a second path", async () => {
    const workspace = await mkdtemp(join(folder, "also-"));
    const also = [{ path: workspace, at: "/workspaces/app" }];
    const common = { name: "also", data: join(folder, "data"), read: [], write: [workspace], also };
    assert.ok(parts !== undefined);
    await using it = new Rig(await openSandbox({ ...common, parts }), workspace);
    const line = `cd /workspaces/app && echo 1 > one && cat ${workspace}/one && pwd`;
    assert.deepEqual(await it.sh(line), { code: 0, out: "1\n/workspaces/app" });
  });

  it("lets a program work in its workspace", async () => {
    await using rig = await open();
    assert.deepEqual(await rig.sh("echo hi > file && cat file && pwd"), {
      code: 0,
      out: `hi\n${rig.workspace}`,
    });
    assert.equal(readFileSync(join(rig.workspace, "file"), "utf8"), "hi\n");
  });

  it("names no folder of ours in place of HOME, unless that is configured", async (t) => {
    const { XDG_CACHE_HOME: before } = process.env;
    process.env.XDG_CACHE_HOME = "/home/ours/.cache";
    t.after(() => {
      if (before === undefined) delete process.env.XDG_CACHE_HOME;
      else process.env.XDG_CACHE_HOME = before;
    });
    await using rig = await open();
    const given = { XDG_CACHE_HOME: "/home/ours/.cache", XDG_CONFIG_HOME: "/etc/theirs" };
    const { out } = await rig.sh('echo "${XDG_CACHE_HOME-none} $XDG_CONFIG_HOME"', given);
    assert.equal(out, "none /etc/theirs");
  });

  it("shows none of the machine's own files", async () => {
    await using rig = await open();
    const secret = join(folder, "secret");
    writeFileSync(secret, "secret");
    const { out } = await rig.sh(
      `cat ${secret} /etc/shadow; ls ${folder} ~root /root /home; ls -a ~`,
    );
    assert.doesNotMatch(out, /^secret$|root:/m);
    assert.match(out, /No such file/);
  });

  it("allows writing only to the workspace, HOME and /tmp", async () => {
    await using rig = await open();
    const { out } = await rig.sh("touch /usr/x /etc/x /x; touch ~/x /tmp/x ./x && echo fine");
    assert.match(out, /usr\/x.*\n.*etc\/x.*\n.*\/x/);
    assert.match(out, /fine$/);
  });

  it("shows only its own processes, and ends them all", async () => {
    await using rig = await open();
    const mark = `4${process.pid}`;
    const { out } = await rig.sh(`setsid sleep ${mark} & ls /proc | grep -c '^[0-9]'`);
    assert.ok(Number(out) < 8, out);
    assert.equal(running(`sleep\0${mark}`), 0);
  });

  it("has no capabilities, and no namespaces to gain any", async () => {
    await using rig = await open();
    const { out } = await rig.sh(
      "grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status; unshare -U true; mount -t tmpfs x /tmp; id -u",
    );
    assert.match(out, /CapEff:\t0+\nCapBnd:\t0+\nNoNewPrivs:\t1\nSeccomp:\t2/);
    assert.match(out, /unshare failed/);
    assert.match(out, /permission denied|must be superuser|not permitted/i);
  });

  it("knows the name of its user", async () => {
    await using rig = await open();
    assert.equal((await rig.sh("id -un")).out, "agent");
  });

  it("shows nobody the command lines and variables of its programs", async () => {
    await using it = await open({ variables: { TOKEN: "of-a-repository" } });
    const one = it.sandbox.wrap({ command: "/bin/true", args: [], env: {}, cwd: it.workspace });
    const found = (await it.sh("grep -rls of-a-repo / --exclude-dir=proc; cat /dev/launcher")).out;
    assert.match(found, /^cat: \/dev\/launcher: Permission denied$/);
    const files = readdirSync(join(folder, "data"), { recursive: true, withFileTypes: true });
    for (const { parentPath, name } of files.filter((file) => file.isFile()))
      assert.ok(!readFileSync(join(parentPath, name)).includes("of-a-repository"), name);
    for (const file of one.files ?? []) closeSync(file);
  });

  it("shares the settings of the system with others, and not the names", async () => {
    await using settings = await makeSettings(folder);
    const who =
      "id -un; cat /etc/hosts | wc -l; cmp /etc/ld.so.cache /etc/nsswitch.conf | wc -l; touch /etc/x";
    for (const user of isRoot ? [{ uid: 1_234_567, gid: 1_234_567 }, undefined] : [undefined]) {
      await using rig = await open({ settings: settings.path, user });
      const { out } = await rig.sh(`${who}; grep -c agent /etc/passwd`);
      assert.match(out, /^agent\n2\n1\n.*Read-only file system\n1$/s);
    }
  });

  it("runs as its own user", { skip: !isRoot && "Only root can become others." }, async () => {
    const user = { uid: 271_828, gid: 271_828 };
    await using rig = await open({ user });
    const { out } = await rig.sh(
      "id -u; touch mine ~/mine && stat -c %u mine; grep -E 'Cap(Eff|Bnd)' /proc/self/status",
    );
    assert.match(out, /^271828\n271828\nCapEff:\t0+\nCapBnd:\t0+$/);
  });

  it("has no network of its own", async () => {
    const server = createServer((socket) => socket.end("reached")).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await using rig = await open();
    const { out } = await rig.sh(
      `${process.execPath} -e 'net.connect(${port}, "127.0.0.1").on("data", (d) => console.log(String(d))).on("error", (e) => console.log(e.code))'`,
    );
    server.close();
    assert.equal(out, "ECONNREFUSED");
  });

  it("reaches services through the proxy, and never gets their keys", async () => {
    const { createServer: createWeb } = await import("node:http");
    const web = createWeb(({ headers }, answer) => answer.end(headers.authorization)).listen(0);
    await once(web, "listening");
    const { port } = web.address() as AddressInfo;
    const headers = async (): Promise<Record<string, string>> => ({ authorization: "Bearer key" });
    using egress = new EgressProxy({
      allowHosts: [],
      setting: "x",
      services: { model: { origin: `http://127.0.0.1:${port}`, allows: ["GET /"], headers } },
    });
    await using rig = await open({ egress });
    const script = `fetch(process.env.TRUNKLINE_SERVICES + "/model/").then((it) => it.text()).then(console.log)`;
    const { out } = await rig.sh(`env | grep -c key; ${process.execPath} -e '${script}'`);
    web.close();
    web.closeAllConnections();
    assert.equal(out, "0\nBearer key");
  });

  it(
    "restricts files with Landlock alone",
    { skip: !parts?.landlock && "No Landlock: it needs Linux 5.13 or later." },
    async () => {
      // To bubblewrap alone, the sandbox's own /dev is a folder like any other.
      assert.ok(parts !== undefined);
      const line = "echo x > /dev/file && echo written; echo ran";
      await using without = await open({ parts: { ...parts, landlock: undefined } });
      assert.match((await without.sh(line)).out, /written\nran$/);
      await using rig = await open();
      assert.match((await rig.sh(line)).out, /denied[^]*ran$/);
    },
  );

  it(
    "limits memory and processes",
    { skip: !isBounded() && "No control groups here." },
    async () => {
      await using rig = await open({ limits: { memory: 128 << 20, processes: 40 } });
      const eat = `${process.execPath} -e 'const all = []; for (;;) all.push(Buffer.alloc(1 << 24, 1))'`;
      assert.match((await rig.sh(`${eat}; echo ended with $?`)).out, /ended with 137/);
      const { out } = await rig.sh("for i in $(seq 60); do sleep 5 & done; echo all");
      assert.match(out, /[Cc]annot fork|Resource temporarily/);
    },
  );

  it("leaves nothing behind", async () => {
    {
      await using rig = await open({ name: "gone", limits: { processes: 20 } });
      await rig.sh("true");
    }
    const left = readdirSync(join(folder, "data")).filter((name) => name.startsWith("gone"));
    assert.deepEqual(left, []);
  });
});

function isBounded(): boolean {
  return findings.some(({ part, isInForce }) => part === "cgroup" && isInForce);
}

/** How many processes of the machine have such a command line. */
function running(commandLine: string): number {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(commandLine);
    } catch {
      return false;
    }
  }).length;
}
