import assert from "node:assert/strict";
import { type ChildProcessByStdio, spawn } from "node:child_process";
import { once } from "node:events";
import { delimiter } from "node:path";
import { createInterface } from "node:readline";
import type { Readable } from "node:stream";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";

/** Runs `npm start` in a checkout until it serves, ends it with Ctrl-C, and gives what it has said. */
export async function serveUntilInterrupted(
  checkout: string,
  home: string,
): Promise<{ stderr: string }> {
  await using npm = new Npm(checkout, home);
  const ready = await npm.ready();
  assert.equal((await fetch(new URL("/healthz", ready.url))).status, 200);
  const start = performance.now();
  npm.signal("SIGINT");
  const [code, signal] = await npm.exited;
  assert.deepEqual({ code, signal }, { code: 0, signal: null });
  assert.ok(performance.now() - start < 20_000, "took longer than twenty seconds to stop");
  const stderr = await npm.stderr;
  assert.doesNotMatch(stderr, /npm err/i);
  await npm.gone();
  return { stderr };
}

/** `npm start` as a person's terminal has it: a process group of its own. */
class Npm implements AsyncDisposable {
  readonly stderr: Promise<string>;
  readonly exited: Promise<[number | null, NodeJS.Signals | null]>;
  readonly #child: ChildProcessByStdio<null, Readable, Readable>;

  constructor(cwd: string, home: string) {
    const args = ["start", "--", "--port", "0", "--json"];
    this.#child = spawn("npm", args, {
      cwd,
      env: freshEnvironment(home),
      stdio: ["ignore", "pipe", "pipe"],
      detached: true,
    });
    this.stderr = text(this.#child.stderr);
    this.exited = once(this.#child, "exit") as typeof this.exited;
  }

  /** What the server says when it is ready; npm's own lines come before it. */
  async ready(): Promise<{ url: string }> {
    for await (const line of createInterface(this.#child.stdout)) {
      if (line.startsWith("{")) return JSON.parse(line) as { url: string };
    }
    throw new Error(`npm start ended before it was ready: ${await this.stderr}`);
  }

  /** Sends a signal to the whole group, as a terminal does. False when nobody is left in it. */
  signal(signal: NodeJS.Signals | 0): boolean {
    assert.ok(this.#child.pid !== undefined, "npm was not started");
    try {
      return process.kill(-this.#child.pid, signal);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, "ESRCH");
      return false;
    }
  }

  /** Waits until every process of the group is gone. */
  async gone(): Promise<void> {
    for (let tries = 0; this.signal(0); tries += 1) {
      assert.ok(tries < 100, "npm start left processes behind");
      await sleep(100);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.signal("SIGKILL")) await this.exited;
  }
}

/** The machine as it is for somebody new: no home, no settings, and the Node that is installed. */
function freshEnvironment(home: string): NodeJS.ProcessEnv {
  const ours = /^(?:npm_|XDG_|TRUNKLINE_|INIT_CWD$|NODE_TEST_CONTEXT$|NODE_OPTIONS$)/i;
  const inherited = Object.entries(process.env).filter(([name]) => !ours.test(name));
  const folders = (process.env["PATH"] ?? "").split(delimiter);
  const PATH = folders.filter((folder) => !folder.includes("node_modules")).join(delimiter);
  return { ...Object.fromEntries(inherited), HOME: home, PATH };
}
