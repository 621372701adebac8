import assert from "node:assert/strict";
import { it } from "node:test";

import { originalError } from "./errors.ts";

it("originalError() returns the first error, whatever failed after it", () => {
  const first = new Error("first");
  const thrown = (): void => {
    using stack = new DisposableStack();
    for (const name of ["third", "second"]) {
      stack.defer(() => {
        throw new Error(name);
      });
    }
    throw first;
  };
  assert.throws(thrown, (error) => originalError(error) === first);
  assert.equal(originalError(first), first);
});
