import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fileWords, originalError } from "./errors.ts";

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

describe("fileWords()", () => {
  const denied = (path: string): Error =>
    Object.assign(new Error(`EACCES: permission denied, open '${path}'`), { code: "EACCES", path });

  it("leaves out the system's code and call, and a file that was named", () => {
    assert.equal(fileWords(denied("/a/b")), "permission denied: '/a/b'");
    assert.equal(fileWords(denied("/a/b"), "/a/b"), "permission denied");
    assert.equal(fileWords(denied("/a/b.new"), "/a/b"), "permission denied");
    assert.equal(fileWords(denied("/a/bc"), "/a/b"), "permission denied: '/a/bc'");
    assert.equal(fileWords(denied("/a"), "/a/b"), "permission denied: '/a'");
  });

  it("says what to do about a full disk, and keeps other words", () => {
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
    });
    assert.match(fileWords(full, "/a"), /^no space left on device\. Free some space/);
    assert.equal(fileWords(new Error("not JSON")), "not JSON");
  });
});
