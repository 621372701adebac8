import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import { GONE, type LinePosition } from "./line-position.ts";
import { PositionCache } from "./position-cache.ts";

const FOUND: LinePosition = { line: 4, end: 5, confidence: "exact", method: "diff" };

class Folder implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-positions-"));

  get file(): string {
    const folder = join(this.path, "positions");
    const [name = "", ...more] = readdirSync(folder);
    assert.deepEqual(more, []);
    return join(folder, name);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

test("PositionCache keeps positions, and that lines are gone, for the next process", () => {
  using folder = new Folder();
  const cache = new PositionCache(folder.path, "/a");
  assert.equal(cache.get("key", 1, 2), undefined);
  cache.set("key", 1, 2, FOUND);
  cache.set("key", 3, 3, GONE);
  cache.save();
  const next = new PositionCache(folder.path, "/a");
  assert.deepEqual(next.get("key", 1, 2), FOUND);
  assert.deepEqual(next.get("key", 3, 3), GONE);
  assert.equal(next.get("key", 1, 1), undefined);
  assert.equal(next.get("other", 1, 2), undefined);
  assert.equal(new PositionCache(folder.path, "/b").get("key", 1, 2), undefined);
  assert.equal(statSync(folder.file).mode & 0o777, 0o600);
});

test("PositionCache begins anew after another version, and after its file was damaged", () => {
  using folder = new Folder();
  const cache = new PositionCache(folder.path, "/a");
  cache.set("key", 1, 2, FOUND);
  cache.save();
  const text = readFileSync(folder.file, "utf8");
  const damages = [
    text.replace(/"version":"[^"]+"/, '"version":"0.0.0"'),
    text.slice(0, -5),
    text.replace(/\[4[^\]]+\]/, '"4"'),
    text.replace(/"key":.*\]\}/, '"key":null'),
    "null",
  ];
  for (const damaged of damages) {
    writeFileSync(folder.file, damaged);
    assert.equal(new PositionCache(folder.path, "/a").get("key", 1, 2), undefined);
  }
});

test("PositionCache drops what was not used for the longest time", () => {
  using folder = new Folder();
  const fill = (key: string): void => {
    const cache = new PositionCache(folder.path, "/a");
    for (let line = 1; line <= 20_000; line++) cache.set(key, line, line, FOUND);
    cache.save();
  };
  for (const key of ["first", "second", "third"]) fill(key);
  const cache = new PositionCache(folder.path, "/a");
  const found = ["first", "second", "third"].map((key) => cache.get(key, 1, 1) !== undefined);
  assert.deepEqual(found, [false, true, true]);
});

test("PositionCache does without a file that it cannot write", () => {
  using folder = new Folder();
  writeFileSync(join(folder.path, "positions"), "");
  const cache = new PositionCache(folder.path, "/a");
  cache.set("key", 1, 2, FOUND);
  cache.save();
  assert.deepEqual(cache.get("key", 1, 2), FOUND);
});
