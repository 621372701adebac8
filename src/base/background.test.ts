import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { background, BackgroundError, belongingTo, whatItBelongsTo } from "./background.ts";

describe("background()", () => {
  it("turns a failure into an error that says what failed, and what it belongs to", async () => {
    const heard = Promise.withResolvers<[unknown, unknown]>();
    // The test runner listens too, and takes it for a failure of the test.
    const others = process.rawListeners("unhandledRejection");
    process.removeAllListeners("unhandledRejection");
    process.on("unhandledRejection", (error) => heard.resolve([error, whatItBelongsTo()]));
    belongingTo({ session: "s1" }, () => {
      setImmediate(() => background(Promise.reject(new Error("no room")), "Noting the title"));
    });
    const [error, fields] = await heard.promise;
    process.removeAllListeners("unhandledRejection");
    for (const other of others) process.on("unhandledRejection", other as () => void);
    assert.ok(error instanceof BackgroundError);
    assert.equal(error.message, "Noting the title failed: no room");
    assert.deepEqual(fields, { session: "s1" });
  });

  it("reports nothing for work that succeeds, or that is undefined", async () => {
    background(undefined, "Nothing");
    background(Promise.resolve(), "Something");
    await new Promise(setImmediate);
    assert.deepEqual(whatItBelongsTo(), {});
  });
});
