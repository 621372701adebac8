import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ControlGroup } from "./cgroup.ts";

const name = `test-${process.pid}`;
const limits = { memory: 64 << 20, processes: 16, cpus: 1 };

describe("ControlGroup.left()", () => {
  it("ends what a killed process has left in its groups, and removes them", async (test) => {
    const group = await ControlGroup.create(name, limits);
    if (group === undefined) return test.skip("no right to make control groups: run it as root");
    const child = spawn("sleep", ["600"]);
    for (const folder of group.folders) {
      writeFileSync(join(folder, "cgroup.procs"), String(child.pid));
    }
    const left = await ControlGroup.left(name);
    assert.deepEqual(left.folders, group.folders);
    await Promise.all([left[Symbol.asyncDispose](), once(child, "exit")]);
    assert.deepEqual(group.folders.filter(existsSync), []);
    assert.deepEqual((await ControlGroup.left(name)).folders, []);
    return undefined;
  });
});
