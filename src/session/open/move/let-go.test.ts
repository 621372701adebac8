import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import { betweenCalls } from "./let-go.ts";

describe("betweenCalls()", () => {
  it("waits until a running turn has ended its tool call", async () => {
    await using folder = await SampleFolder.create();
    await using log = await SessionLog.open(folder.path);
    const notes = { turn: "t", turnAfter: 0 };
    const { key } = await log.create({ id: "s", cwd: "/x", agent: "a", notes });
    const say = (update: object): void => {
      log.append(key, "agent", JSON.stringify({ kind: "update", update }));
    };
    say({ sessionUpdate: "tool_call", toolCallId: "1", status: "pending" });
    await log.flush();
    let isOver = false;
    const over = betweenCalls(log, "s").then(() => (isOver = true));
    const abort = new AbortController();
    abort.abort();
    await assert.rejects(betweenCalls(log, "s", abort.signal));
    assert.equal(isOver, false);
    say({ sessionUpdate: "tool_call_update", toolCallId: "1", status: "completed" });
    await over;
    await log.describe(key, { notes: {} });
    await betweenCalls(log, "s");
  });
});
