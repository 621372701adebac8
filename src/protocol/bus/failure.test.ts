import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { CannotAsk, ToolFault } from "../../tool/tool.ts";
import { failureOf } from "./failure.ts";

const unexpected = (): never => assert.fail("nothing is to be reported");

describe("failureOf()", () => {
  it("keeps the code and the details of a protocol error", () => {
    const fault = new ToolFault(-32602, "Invalid params: 'a'", { field: "a" });
    assert.deepEqual(failureOf(fault, unexpected), {
      success: false,
      errorCode: "-32602",
      errorMessage: "Invalid params: 'a'",
      result: { data: { field: "a" } },
    });
  });

  it("answers even if the details cannot be sent", () => {
    const fault = new ToolFault(-32000, "no", { at: new Date() });
    const { errorMessage, result } = failureOf(fault, unexpected);
    assert.deepEqual([errorMessage, result], ["no", undefined]);
  });

  it("names our own failures", () => {
    const missing = new TrunklineError("not-found", "Unknown tool: x");
    assert.equal(failureOf(missing, unexpected).errorCode, "tool_not_found");
    const late = new TrunklineError("timeout", "It took too long");
    assert.equal(failureOf(late, unexpected).errorCode, "timeout");
    const mute = new CannotAsk({ method: "elicitation/create" });
    assert.equal(failureOf(mute, unexpected).errorCode, "cannot_ask");
  });

  it("reveals only an id for a bug in the program", () => {
    const reported: unknown[] = [];
    const secret = new Error("password is 123");
    const answer = failureOf(secret, (id, cause) => reported.push(id, cause));
    const [id, cause] = reported;
    assert.equal(answer.errorCode, "handler_error");
    assert.equal(answer.errorMessage, `Internal error ${String(id)}`);
    assert.equal(cause, secret);
  });
});
