import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleContext } from "../../test/samples/sample-context.ts";
import { commentsIn, Reviewing } from "../../test/samples/sample-reviewing.ts";

describe("Deliveries", () => {
  it("keep what a disconnected caller did not get", async () => {
    await using reviewing = await Reviewing.begin();
    await reviewing.add("one");
    const gone = new SampleContext();
    gone.abort.abort(new Error("gone"));
    await reviewing.call("check_lazygit_messages", {}, gone);
    assert.deepEqual(commentsIn(await reviewing.text("check_lazygit_messages")), ["one"]);
  });
});
