import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { describe, it } from "node:test";

import { isMarkOfEnded, ownMark } from "./process-mark.ts";

const MODULE = new URL("process-mark.ts", import.meta.url).href;
const SAY = `import { ownMark } from ${JSON.stringify(MODULE)}; console.log(ownMark());`;
const ARGS = ["--input-type=module", "-e"];

describe("isMarkOfEnded()", () => {
  it("tells running processes from those that have ended", async () => {
    assert.equal(isMarkOfEnded(ownMark()), false);
    const { stdout } = spawnSync(process.execPath, [...ARGS, SAY], { encoding: "utf8" });
    assert.equal(isMarkOfEnded(stdout.trim()), true);
    const running = spawn(process.execPath, [...ARGS, `${SAY} process.stdin.resume();`]);
    const [mark] = (await once(running.stdout.setEncoding("utf8"), "data")) as [string];
    assert.equal(isMarkOfEnded(mark.trim()), false);
    running.stdin.end();
    await once(running, "close");
    assert.equal(isMarkOfEnded(mark.trim()), true);
  });

  it("does not take another process for the one that had its number before", () => {
    assert.equal(isMarkOfEnded(`${process.pid}-1`), true);
  });

  it("knows nothing of what is no mark", () => {
    for (const word of ["", "1", "1-", "x-1", "1-2-3"]) assert.equal(isMarkOfEnded(word), false);
  });
});
