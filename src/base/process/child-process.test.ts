import assert from "node:assert/strict";
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { until } from "../../../test/support/until.ts";

import { OwnedChild } from "./child-process.ts";
import { processOf, processTable, wasGiven } from "./process-table.ts";

const env = { PATH: process.env["PATH"] };
const node = (script: string) => ({ command: process.execPath, args: ["-e", script], env });

const NO_MARKS =
  process.platform === "linux" ? false : "only Linux shows the environment of others";

/** Keeps running whatever happens to its input. */
const STAYS = `setInterval(() => {}, 1000); process.stdout.write("ready\\n");`;

async function firstLine(child: OwnedChild): Promise<string> {
  for await (const line of createInterface(child.stdout)) return line;
  return "";
}

/** One that only has to be buried is not. */
function isAlive(pid: number): boolean {
  return processOf(pid) !== undefined;
}

async function gone(pid: number): Promise<void> {
  await until(() => !isAlive(pid));
}

/** A process that owns a child. */
class Owner implements AsyncDisposable {
  readonly #process: ChildProcessWithoutNullStreams;
  readonly #errors: Promise<string>;

  private constructor(script: string) {
    this.#process = spawn(process.execPath, ["--input-type=module", "-e", script]);
    this.#errors = text(this.#process.stderr);
  }

  static of(script: string): Owner {
    return new Owner(script);
  }

  /** Of one child, after whose start it does something. */
  static ofChild(child: { readonly args: readonly string[] }, last: string): Owner {
    const module = join(import.meta.dirname, "child-process.ts");
    const options = JSON.stringify({ command: process.execPath, args: child.args });
    return new Owner(`
      const { OwnedChild } = await import(${JSON.stringify(module)});
      const child = await OwnedChild.start({ ...${options}, env: process.env });
      ${last}`);
  }

  /** Of a shell that it does not tell the watchdog of. */
  static ofUnregistered(command: string, env: NodeJS.ProcessEnv = {}): Owner {
    const modules = import.meta.dirname;
    return new Owner(`
      const { startWatchdog } = await import(${JSON.stringify(join(modules, "watchdog.ts"))});
      const { ownerMark } = await import(${JSON.stringify(join(modules, "process-tree.ts"))});
      const { spawn } = await import("node:child_process");
      startWatchdog();
      const env = { ...process.env, ...ownerMark().env, ...${JSON.stringify(env)} };
      const child = spawn("sh", ["-c", ${JSON.stringify(command)}], { env, detached: true });
      console.log(child.pid);`);
  }

  /** The number that it says. */
  async said(): Promise<number> {
    let pid = 0;
    for await (const line of createInterface(this.#process.stdout)) {
      pid = Number(line);
      break;
    }
    assert.ok(pid > 0, pid > 0 ? "" : await this.#errors);
    return pid;
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    const { exitCode, signalCode } = this.#process;
    if (exitCode !== null || signalCode !== null) return;
    this.#process.kill(signal);
    await once(this.#process, "exit");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end("SIGKILL");
  }
}

/**
 * Starts a process that leaves for a session of its own, and says its number. An orphan is started
 * by a process in between, which ends.
 */
function leaving({ isOrphan = false, env = "process.env", last = "process.stdin.resume()" } = {}) {
  const start = `const { spawn } = require("node:child_process");
    const left = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"],
      { detached: true, stdio: "ignore", env: ${env} });
    left.unref();
    console.log(left.pid);`;
  const script = isOrphan
    ? `require("node:child_process").execFileSync(process.execPath, ["-e", ${JSON.stringify(start)}],
        { stdio: "inherit" }); ${last}`
    : `${start} ${last}`;
  return { ...node(script), grace: 2_000 };
}

describe("OwnedChild", { timeout: 600_000 }, () => {
  it("ends when its input ends", async () => {
    const child = await OwnedChild.start(node(`process.stdin.resume()`));
    await child.end();
    assert.equal(await child.exit, 0);
  });

  it("is terminated if the end of its input does not end it", async () => {
    const child = await OwnedChild.start({ ...node(STAYS), grace: 1_000 });
    await firstLine(child);
    await child.end();
    assert.equal(await child.exit, "SIGTERM");
  });

  it("is killed if it ignores that too", async () => {
    const script = `process.on("SIGTERM", () => {}); ${STAYS}`;
    const child = await OwnedChild.start({ ...node(script), grace: 50 });
    await firstLine(child);
    await child.end();
    assert.equal(await child.exit, "SIGKILL");
  });

  it("is ended together with its descendants", async () => {
    const script = `
      const { spawn } = require("node:child_process");
      const inner = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"]);
      console.log(inner.pid);
      process.stdin.resume();`;
    const child = await OwnedChild.start({ ...node(script), grace: 50 });
    const inner = Number(await firstLine(child));
    assert.ok(isAlive(inner));
    await child.end();
    await gone(inner);
  });

  it("is ended together with descendants that left its process group", async () => {
    const child = await OwnedChild.start(leaving());
    const left = Number(await firstLine(child));
    assert.ok(isAlive(left));
    await child.end();
    assert.ok(!isAlive(left));
  });

  it("is ended together with descendants that left its process group, when it is killed", async () => {
    const child = await OwnedChild.start(leaving());
    const left = Number(await firstLine(child));
    child.kill();
    await child.gone;
    assert.ok(!isAlive(left));
  });

  it("is ended together with descendants that removed their mark, while their parent runs", async () => {
    for (const way of ["end", "kill"] as const) {
      const child = await OwnedChild.start(leaving({ env: "{}" }));
      const left = Number(await firstLine(child));
      await child[way]();
      await child.gone;
      assert.ok(!isAlive(left), way);
    }
  });

  it("leaves no descendants behind when it ends by itself", { skip: NO_MARKS }, async () => {
    const child = await OwnedChild.start(leaving({ last: "" }));
    const left = Number(await firstLine(child));
    assert.equal(await child.exit, 0);
    await child.gone;
    assert.ok(!isAlive(left));
  });

  it("is ended together with its orphans, and not with another's", { skip: NO_MARKS }, async () => {
    const child = await OwnedChild.start(leaving({ isOrphan: true }));
    await using other = await OwnedChild.start(leaving({ isOrphan: true }));
    const left = Number(await firstLine(child));
    const others = Number(await firstLine(other));
    await child.end();
    assert.ok(!isAlive(left));
    assert.ok(isAlive(others));
    await other.end();
    assert.ok(!isAlive(others));
  });

  it("reports its stderr line by line, cut to a length", async () => {
    const lines: string[] = [];
    const said = Promise.withResolvers<void>();
    const script = `process.stderr.write("one\\n" + "x".repeat(10000) + "\\n\\nlast")`;
    const stderr = (line: string): void => {
      lines.push(line);
      if (line === "last") said.resolve();
    };
    await using child = await OwnedChild.start({ ...node(script), stderr });
    await child.exit;
    await said.promise;
    assert.deepEqual(
      lines.map(({ length }) => length),
      [3, 4096, 4],
    );
  });

  it("says what to do if it cannot be started", async () => {
    const starting = OwnedChild.start({ command: "no-such-program-here", env });
    await assert.rejects(starting, {
      code: "unavailable",
      message:
        "Cannot start 'no-such-program-here': no such program. Check the command, or install it.",
    });
    const here = { command: "no-such-program-here", env, cwd: import.meta.dirname };
    await assert.rejects(OwnedChild.start(here), /: no such program\. Check/);
    for (const cwd of [import.meta.filename, `${import.meta.filename}-none`]) {
      const message = `Cannot start 'ls': there is no folder '${cwd}' to start it in.`;
      const inNone = OwnedChild.start({ command: "ls", env, cwd });
      await assert.rejects(inNone, { code: "unavailable", message });
    }
  });

  for (const signal of ["SIGKILL", "SIGTERM"] as const) {
    it(`does not outlive its owner, if the owner is ended by ${signal}`, async () => {
      const stays = node(`process.on("SIGTERM", () => {}); ${STAYS}`);
      await using owner = Owner.ofChild(
        stays,
        "child.stdout.once('data', () => console.log(child.pid));",
      );
      const pid = await owner.said();
      await owner.end(signal);
      await gone(pid);
    });

    it(`is ended with descendants that left its group, if its owner is ended by ${signal}`, async () => {
      // One that stays when its input ends has a tree to be found by. It says nothing more: without its
      // owner, that would end it.
      const stays = leaving({ env: "{}", last: "setInterval(() => {}, 1000)" });
      for (const how of NO_MARKS ? [stays] : [stays, leaving(), leaving({ isOrphan: true })]) {
        const says = "child.stdout.once('data', (pid) => console.log(parseInt(pid)));";
        await using owner = Owner.ofChild(how, says);
        const left = await owner.said();
        assert.ok(isAlive(left));
        await owner.end(signal);
        await gone(left);
      }
    });
  }

  it("is ended with descendants that left its group, if its owner exits without ending it", async () => {
    const says =
      "child.stdout.once('data', (pid) => { console.log(parseInt(pid)); process.exit(); });";
    await using owner = Owner.ofChild(leaving({ env: "{}" }), says);
    await gone(await owner.said());
  });

  it(
    "ends with an owner that is killed before it could register the child",
    { skip: NO_MARKS },
    async () => {
      await using owner = Owner.ofUnregistered("sleep 1000");
      const child = await owner.said();
      await owner.end("SIGKILL");
      await gone(child);
    },
  );

  it("ends with an owner that is killed while it starts others", { skip: NO_MARKS }, async () => {
    const own = randomUUID();
    const starts = "while :; do setsid sleep 1000 & sleep 0.005; done";
    await using owner = Owner.ofUnregistered(starts, { OF_TEST: own });
    await owner.said();
    const started = (): number => {
      const all = [...processTable()].flat();
      return all.filter(({ pid }) => wasGiven(pid, own)).length;
    };
    await until(() => started() > 5);
    await owner.end("SIGKILL");
    await until(() => started() === 0);
  });

  it("does not keep its owner from exiting", async () => {
    const module = join(import.meta.dirname, "child-process.ts");
    const script = `
      const { OwnedChild } = await import(${JSON.stringify(module)});
      const child = await OwnedChild.start({ command: "cat", env: process.env });
      await child.end();`;
    const owner = spawn(process.execPath, ["--input-type=module", "-e", script], {
      stdio: "ignore",
    });
    const [code] = (await once(owner, "exit")) as [number];
    assert.equal(code, 0);
  });
});
