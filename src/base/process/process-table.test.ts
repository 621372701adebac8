import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";

import { hasProc, processOf, processTable, wasGiven } from "./process-table.ts";

/** As on Linux, and as everywhere else. */
const WAYS = hasProc ? [true, false] : [false];

describe("processTable()", { timeout: 60_000 }, () => {
  for (const isProc of WAYS) {
    const way = isProc ? "from /proc" : "from ps";
    it(`lists parent, group and start time of each process, ${way}`, async () => {
      const child = spawn("sleep", ["60"], { detached: true });
      const { pid = 0 } = child;
      await once(child, "spawn");
      const found = [...processTable(isProc)].flat().find((each) => each.pid === pid);
      assert.deepEqual(found, processOf(pid, isProc));
      assert.equal(found?.parent, process.pid);
      assert.equal(found.group, pid);
      assert.notEqual(found.start, "");
      assert.ok([...processTable(isProc)].flat().some((each) => each.pid === process.pid));
      child.kill("SIGKILL");
      await once(child, "exit");
      assert.equal(processOf(pid, isProc), undefined);
    });
  }

  it(
    "comes in parts of a few processes, between which others have their turn",
    { skip: !hasProc },
    async () => {
      const children = Array.from({ length: 20 }, () => spawn("sleep", ["60"]));
      await Promise.all(children.map((child) => once(child, "spawn")));
      const sizes = [...processTable()].map((part) => part.length);
      assert.ok(sizes.length > 2 && Math.max(...sizes) <= 8, `parts of ${sizes.join(", ")}`);
      for (const child of children) child.kill("SIGKILL");
      await Promise.all(children.map((child) => once(child, "exit")));
    },
  );

  it("is not confused by the name of a program", { skip: !hasProc }, async () => {
    const script = `process.title = ") R 1 1 1"; console.log("ready"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["-e", script]);
    await once(child.stdout, "data");
    assert.equal(processOf(child.pid ?? 0)?.parent, process.pid);
    child.kill("SIGKILL");
    await once(child, "exit");
  });
});

describe("wasGiven()", { skip: !hasProc }, () => {
  it("finds a variable of a process, and nothing if the process is gone", async () => {
    const child = spawn("sleep", ["60"], { env: { PATH: process.env.PATH, GIVEN: "some words" } });
    const { pid = 0 } = child;
    await once(child, "spawn");
    assert.ok(wasGiven(pid, "some words"));
    assert.ok(!wasGiven(pid, "other words"));
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.ok(!wasGiven(pid, "some words"));
  });
});
