import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Git } from "../git.ts";
import { restoreKeys, type RestoreOptions } from "./edit-config.ts";

async function restored(now: string, before: string, after: string, options?: RestoreOptions) {
  const [a, b, c] = [now, before, after].map((text) => Buffer.from(text, "latin1"));
  assert.ok(a && b && c);
  const { bytes, changedSince } = await restoreKeys(new Git("/"), a, b, c, options);
  return { text: bytes.toString("latin1"), changedSince };
}

describe("restoreKeys()", () => {
  it("restores old values in any encoding, with the old spelling, and removes new sections", async () => {
    const before = "[User]\n\tName = Jos\u00e9\n[core]\n\tfileMode\n";
    const after = "[User]\n\tName = Ada\n[core]\n[x]\n\ty = 1\n";
    const { text, changedSince } = await restored(
      `${after}[branch "m"]\n\tremote = o\n`,
      before,
      after,
    );
    const more = "[core]\n\tfileMode = true\n";
    assert.equal(text, `[User]\n\tName = Jos\u00e9\n${more}[branch "m"]\n\tremote = o\n`);
    assert.deepEqual(changedSince, []);
  });

  it("keeps a section with a comment or a key of somebody else", async () => {
    const after = "[x]\n\ty = 1\n[z]\n\ty = 1\n";
    const now = "[x]\n\ty = 1\n# mine\n[z]\n\ty = 1\n\tk = 2\n[a][b] c = d]\n";
    assert.equal(
      (await restored(now, "", after)).text,
      "[x]\n# mine\n[z]\n\tk = 2\n[a][b] c = d]\n",
    );
  });

  it("leaves keys that were changed since, and those that it is told to", async () => {
    const [before, after] = ["[a]\n\tb = 1\n\tc = 1\n", "[a]\n\tb = 2\n\tc = 2\n"];
    const now = "[a]\n\tb = 3\n\tc = 2\n";
    const kept = await restored(now, before, after);
    assert.deepEqual(kept, { text: "[a]\n\tb = 3\n\tc = 1\n", changedSince: ["a.b"] });
    assert.equal((await restored(now, before, after, { force: true })).text, before);
    const except = new Set(["a.c"]);
    assert.equal(
      (await restored(after, before, after, { except })).text,
      "[a]\n\tb = 1\n\tc = 2\n",
    );
  });
});
