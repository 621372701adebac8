import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { fromKept, toKept } from "./reviews-rows.ts";
import { Reviews } from "./reviews.ts";

describe("toKept()", () => {
  for (const [name, text] of [
    ["nothing", Buffer.alloc(0)],
    ["a short text that begins as a compressed one does", Buffer.from([0x78, 0x9c, 1, 2])],
    ["a text that begins with a NUL", Buffer.from([0, 1, 2])],
    ["a long text", Buffer.from("a line\n".repeat(50_000))],
  ] as const) {
    it(`restores ${name}`, () => assert.deepEqual(Buffer.from(fromKept(toKept(text))), text));
  }

  it("compresses long texts", () => {
    assert.ok(toKept(Buffer.from("a line\n".repeat(50_000))).length < 10_000);
  });
});

describe("Reviews.storedTexts()", () => {
  it("finds a few texts or many, and leaves out those that are not stored", async () => {
    await using folder = await SampleFolder.create();
    using reviews = await Reviews.open(folder.path);
    const blobs = Array.from({ length: 90 }, (_, n) => String(n * 7919).padStart(40, "0"));
    const textOf = (blob: string): Buffer => Buffer.from(`${blob}\n`.repeat(500));
    await reviews.addAll(
      blobs.map((blob) => ({
        repository: { gitDir: "/r/.git", root: "/r" },
        anchor: { path: "a.ts", side: "new", blob },
        comment: "So",
        severity: "nit",
        by: "ada",
        source: "test",
        content: textOf(blob),
      })),
    );
    for (const asked of [blobs.slice(10, 13), blobs.slice(5, 80)]) {
      const found = await reviews.storedTexts([...asked, "f".repeat(40)]);
      assert.deepEqual([...found.keys()].toSorted(), asked);
      for (const [blob, text] of found) assert.ok(textOf(blob).equals(text), blob);
    }
  });
});
