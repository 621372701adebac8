import assert from "node:assert/strict";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { describe, it, type TestContext } from "node:test";

import { nextTurn } from "../event-loop.ts";
import { OwnedChild } from "./child-process.ts";
import { hasProc, processTable } from "./process-table.ts";
import { ProcessTree } from "./process-tree.ts";

/** How many processes have been looked at in each turn of the event loop until the work was done. */
async function lookedAt(t: TestContext, work: () => Promise<unknown>): Promise<number[]> {
  const read = t.mock.method(fs, "readFileSync");
  syncBuiltinESMExports();
  try {
    const turns: number[] = [];
    const progress = { isDone: false };
    const done = work().finally(() => {
      progress.isDone = true;
    });
    while (!progress.isDone) {
      await nextTurn();
      const paths = read.mock.calls.map(({ arguments: [path] }) => String(path));
      turns.push(paths.filter((path) => path.endsWith("/stat")).length);
      read.mock.resetCalls();
    }
    await done;
    return turns;
  } finally {
    read.mock.restore();
    syncBuiltinESMExports();
  }
}

function isRunning(pid: number): boolean {
  return !/^State:\s+[ZX]/m.test(fs.readFileSync(`/proc/${pid}/status`, "utf8"));
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

describe("ProcessTree.look()", { skip: !hasProc, timeout: 60_000 }, () => {
  it("looks at a few processes in a turn", async (t) => {
    const turns = await lookedAt(t, () => new ProcessTree(process.pid).look());
    // The first one is the root.
    assert.ok(sum(turns) > 1 && Math.max(...turns) <= 8 + 1, `in each turn ${turns.join(", ")}`);
  });

  it("looks at none any more once that is useless", async (t) => {
    const tree = new ProcessTree(process.pid);
    assert.equal(sum(await lookedAt(t, () => tree.look(() => true))), 0);
    // It is asked before the first processes and after them.
    let asked = 0;
    const turns = await lookedAt(t, () => tree.look(() => ++asked > 1));
    assert.ok(sum(turns) > 0 && sum(turns) <= 8, `in each turn ${turns.join(", ")}`);
  });

  it("goes through the processes once for a child that was killed", async (t) => {
    const child = await OwnedChild.start({ command: "cat", env: { PATH: process.env["PATH"] } });
    const turns = await lookedAt(t, async () => {
      process.kill(child.pid, "SIGKILL");
      // Its output may end before its exit is told, and then its owner ends it.
      while (isRunning(child.pid));
      await child.end();
    });
    const all = [...processTable()].flat().length;
    assert.ok(sum(turns) < 1.5 * all + 20, `looked at ${sum(turns)} of ${all} processes`);
  });
});
