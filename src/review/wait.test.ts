import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { SampleContext } from "../../test/samples/sample-context.ts";
import { Reviewing } from "../../test/samples/sample-reviewing.ts";

describe("waitForThreads(), by review_wait", () => {
  it("wait for a comment, and claim it", async () => {
    await using reviewing = await Reviewing.begin();
    const waiting = reviewing.threads("review_wait", { timeoutSeconds: 60 });
    await turn();
    const id = await reviewing.add("at last");
    assert.deepEqual(
      (await waiting).map((thread) => [thread.id, thread.state]),
      [[id, "claimed"]],
    );
    assert.deepEqual(await reviewing.threads("review_wait", { timeoutSeconds: 0 }), []);
  });

  it("stop waiting when the caller disconnects, and leave the comment to others", async () => {
    await using reviewing = await Reviewing.begin();
    const context = new SampleContext();
    const waiting = reviewing.call("review_wait", { timeoutSeconds: 60 }, context);
    context.abort.abort(new Error("gone"));
    await assert.rejects(waiting, { code: "cancelled" });
    await reviewing.add("one");
    assert.equal((await reviewing.threads("review_claim", {}, "other")).length, 1);
  });
});
