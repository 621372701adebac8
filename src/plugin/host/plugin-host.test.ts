import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";

import { PluginHost, type PluginRun } from "./plugin-host.ts";

/** Says what it was started with, does what its first argument says, and ends with its input. */
const MODULE = `
const [what] = process.argv.slice(2);
process.stderr.write("READY " + what + " " + process.env.NAME + " " + process.pid + "\\n");
process.stdin.on("end", () => process.exit(0)).resume();
if (what === "throw") setImmediate(() => { throw new Error("it broke"); });
if (what === "loop") setImmediate(() => { for (;;); });
if (what === "exit") process.exit(7);
if (what === "leak") { const all = []; setImmediate(() => { for (;;) all.push({ all: [] }); }); }
if (what === "block") setImmediate(() => require("node:fs").readFileSync(process.env.FIFO, "utf8"));
if (what === "forge") require("node:fs").writeSync(1, 'rubbish\\n{"key":"1","exit":0}\\nnull\\n');
if (what === "stubborn") process.stdin.removeAllListeners("end"), setInterval(() => {}, 1000);
`;

interface Started extends PluginRun {
  readonly lines: readonly string[];
  /** Resolves with what it said first. */
  readonly ready: Promise<string>;
}

async function open(limits?: ConstructorParameters<typeof PluginHost>[0]) {
  const home = await mkdtempDisposable(join(tmpdir(), "trunkline-host-"));
  const file = join(home.path, "module.cjs");
  const fifo = join(home.path, "fifo");
  await writeFile(file, MODULE);
  await promisify(execFile)("mkfifo", [fifo]);
  const host = new PluginHost(limits);
  const start = async (what: string, env: NodeJS.ProcessEnv = {}): Promise<Started> => {
    const lines: string[] = [];
    const ready = Promise.withResolvers<string>();
    const stderr = (line: string): void => {
      lines.push(line);
      ready.resolve(line);
    };
    const run = await host.start({
      file,
      args: [what],
      env: { NAME: `of ${what}`, FIFO: fifo, ...env },
      stderr,
    });
    return { ...run, lines, ready: ready.promise };
  };
  return {
    ...{ host, start, fifo },
    async [Symbol.asyncDispose]() {
      await host[Symbol.asyncDispose]();
      await home.remove();
    },
  };
}

/** Opens a pipe once somebody reads it: before that, it cannot be opened without waiting. */
async function untilRead(fifo: string): Promise<number> {
  for (;;) {
    try {
      return openSync(fifo, constants.O_WRONLY | constants.O_NONBLOCK);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENXIO") throw error;
    }
    await delay(5);
  }
}

describe("PluginHost", () => {
  it("runs modules in one process, each with its own arguments and environment", async () => {
    await using rig = await open();
    const [one, two] = [await rig.start("one"), await rig.start("two")];
    assert.equal(await one.ready, `READY one of one ${one.pid}`);
    assert.equal(await two.ready, `READY two of two ${one.pid}`);
    await one.end();
    assert.equal(await one.exit, 0);
    await two.end();
  });

  it("ends a module that throws, exits or loops, and leaves the others alone", async () => {
    await using rig = await open();
    const other = await rig.start("other");
    await other.ready;
    const thrown = await rig.start("throw");
    assert.equal(await thrown.exit, 1);
    assert.equal(thrown.lines.at(-1), "it broke");
    assert.equal(await (await rig.start("exit")).exit, 7);
    const looping = await rig.start("loop");
    await looping.ready;
    looping.kill();
    assert.equal(await looping.exit, 1);
    const later = await rig.start("later");
    assert.equal(await later.ready, `READY later of later ${other.pid}`);
    await Promise.all([other.end(), later.end()]);
    assert.equal(await other.exit, 0);
  });

  it("says why no worker can run a module, and leaves the others alone", async () => {
    await using rig = await open();
    const other = await rig.start("other");
    await other.ready;
    const refused = await rig.start("refused", { NODE_OPTIONS: "--title=mine" });
    assert.equal(await refused.exit, 1);
    assert.match(refused.lines.at(-1) ?? "", /invalid NODE_OPTIONS.*\. Give it "process": "own"/);
    const later = await rig.start("later");
    assert.equal(await later.ready, `READY later of later ${other.pid}`);
    await Promise.all([other.end(), later.end()]);
    assert.equal(await other.exit, 0);
  });

  it("ends a module that does not end with its input", async () => {
    await using rig = await open();
    const stubborn = await rig.start("stubborn");
    await stubborn.ready;
    await stubborn.end();
    assert.equal(await stubborn.exit, 1);
  });

  it("ends a module that takes too much memory, and no other", async () => {
    await using rig = await open({ memory: 24 });
    const other = await rig.start("other");
    await other.ready;
    const leaking = await rig.start("leak");
    assert.equal(await leaking.exit, 1);
    assert.match(leaking.lines.at(-1) ?? "", /reaching memory limit/);
    await other.end();
    assert.equal(await other.exit, 0);
  });

  it("ends the whole process where a module cannot be ended otherwise", async () => {
    await using rig = await open({ lastResort: 50 });
    const other = await rig.start("other");
    const blocked = await rig.start("block");
    const writer = await untilRead(rig.fifo);
    try {
      blocked.kill();
      assert.deepEqual(await Promise.all([blocked.exit, other.exit]), ["SIGKILL", "SIGKILL"]);
    } finally {
      closeSync(writer);
    }
  });

  it("tells all that they have ended when the process is killed, and starts another", async () => {
    await using rig = await open();
    const [one, two] = [await rig.start("one"), await rig.start("two")];
    await Promise.all([one.ready, two.ready]);
    process.kill(one.pid, "SIGKILL");
    assert.deepEqual(await Promise.all([one.exit, two.exit]), ["SIGKILL", "SIGKILL"]);
    const again = await rig.start("again");
    await again.ready;
    assert.notEqual(again.pid, one.pid);
  });

  it("is not confused by what a module writes past its own output", async () => {
    await using rig = await open();
    const forging = await rig.start("forge");
    await forging.ready;
    await forging.end();
    assert.equal(await forging.exit, 0);
    assert.equal(forging.lines.length, 1);
  });

  it("needs no process once no module is left", async () => {
    await using rig = await open();
    const one = await rig.start("one");
    await one.ready;
    await one.end();
    const two = await rig.start("two");
    await two.ready;
    assert.notEqual(two.pid, one.pid);
  });
});
