import assert from "node:assert/strict";
import { existsSync, readFileSync, truncateSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { addToCopy, auditedNodes, copiesOf } from "./whole-audit.ts";

const FILE = "20261116T120000000Z-0123abcd";
const LINES = Array.from({ length: 9 }, (_, n) => `{"line":${n}}\n`);
const ALL = LINES.join("");
const SIZE = LINES[0]?.length ?? 0;

/** Lines of the file, by their numbers. */
function lines(first: number, end: number): Parameters<typeof addToCopy>[2] {
  const text = LINES.slice(first, end).join("");
  return { file: FILE, from: first * SIZE, lines: Buffer.from(text) };
}

describe("copies of audits", () => {
  it("have each line once, in whatever pieces and however often it comes", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    for (const [first, end] of [
      [0, 2],
      [0, 2],
      [0, 4],
      [2, 3],
      [4, 9],
      [0, 9],
    ] as const) {
      addToCopy(folder.path, "a", lines(first, end));
    }
    const [copy, ...others] = copiesOf(folder.path, "a");
    assert.equal(readFileSync(copy?.path ?? "", "utf8"), ALL);
    assert.deepEqual(others, []);
  });

  it("are completed where a crash has left half a line", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    addToCopy(folder.path, "a", lines(0, 3));
    const [copy] = copiesOf(folder.path, "a");
    truncateSync(copy?.path ?? "", 2 * SIZE + 4);
    addToCopy(folder.path, "a", lines(0, 3));
    assert.equal(readFileSync(copy?.path ?? "", "utf8"), LINES.slice(0, 3).join(""));
  });

  it("begin anew after a gap, and ignore what comes before one", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    addToCopy(folder.path, "a", lines(0, 2));
    addToCopy(folder.path, "a", lines(5, 7));
    addToCopy(folder.path, "a", lines(7, 8));
    addToCopy(folder.path, "a", lines(3, 4));
    assert.deepEqual(
      copiesOf(folder.path, "a").map(({ path, from }) => [from, readFileSync(path, "utf8")]),
      [
        [0, LINES.slice(0, 2).join("")],
        [5 * SIZE, LINES.slice(5, 8).join("")],
      ],
    );
  });

  it("are never written outside of their folder", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    addToCopy(folder.path, "..", lines(0, 1));
    addToCopy(folder.path, "a", { ...lines(0, 1), file: "../../x" });
    assert.deepEqual(auditedNodes(folder.path), []);
    assert.equal(existsSync(join(folder.path, "audit-copies")), false);
  });
});
