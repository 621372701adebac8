import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { readComment } from "./comment-text.ts";

describe("readComment()", () => {
  it("returns the given text without trailing line breaks", async () => {
    assert.equal(await readComment({ env: {} }, "  one\n\ntwo \n\n", ""), "  one\n\ntwo ");
  });

  for (const text of ["", " ", "\n\t\n"]) {
    it(`refuses ${JSON.stringify(text)}, which is empty`, async () => {
      await assert.rejects(readComment({ env: {} }, text, ""), (error: unknown) => {
        return error instanceof TrunklineError && error.code === "usage";
      });
    });
  }
});
