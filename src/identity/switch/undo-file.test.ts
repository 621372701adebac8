import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { withBlock } from "./managed-blocks.ts";
import { Git } from "../../git/git.ts";
import { undoFile } from "../identities.ts";

const git = new Git("/");
const OWN = Buffer.from("Host a\n");
const BLOCK = { lines: ["Host ours"], position: "start" } as const;

function change(before: Buffer | undefined, after: Buffer | undefined, isGitConfig = false) {
  return { path: "/f", before, after, mode: 0o600, isGitConfig };
}

describe("undoFile()", () => {
  it("removes its own block, and keeps lines that were added since", async () => {
    const after = withBlock(OWN, BLOCK);
    const now = Buffer.concat([after, Buffer.from("Host b\n")]);
    assert.equal(
      (await undoFile(git, change(OWN, after), now)).bytes?.toString(),
      "Host a\nHost b\n",
    );
  });

  it("keeps a block that was changed since, unless forced", async () => {
    const after = withBlock(OWN, BLOCK);
    const now = Buffer.from(after.toString().replace("ours", "mine"));
    assert.deepEqual(await undoFile(git, change(OWN, after), now), {
      bytes: now,
      changedSince: ["managed block"],
    });
    assert.deepEqual((await undoFile(git, change(OWN, after), now, { force: true })).bytes, OWN);
  });

  it("puts a removed block back", async () => {
    const before = withBlock(OWN, BLOCK);
    const now = Buffer.from("Host a\nHost b\n");
    assert.deepEqual((await undoFile(git, change(before, OWN), now)).bytes, withBlock(now, BLOCK));
  });

  it("leaves a deleted file deleted, and removes one that has only our settings", async () => {
    const after = Buffer.from("[a]\n\tb = 1\n");
    assert.equal((await undoFile(git, change(OWN, after, true), undefined)).bytes, undefined);
    const now = Buffer.from("[a]\n\n\tb = 1\n");
    assert.equal((await undoFile(git, change(undefined, after, true), after)).bytes, undefined);
    assert.equal((await undoFile(git, change(undefined, after, true), now)).bytes, undefined);
  });
});
