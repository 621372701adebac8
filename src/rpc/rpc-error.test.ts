import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type ErrorCode, TrunklineError } from "../base/errors.ts";
import { holdSecret } from "../base/text/mask.ts";
import { errorText, RpcError, toRpcError } from "./rpc-error.ts";

describe("errorText()", () => {
  it("escapes hidden characters in values of the message", () => {
    const { message, data } = JSON.parse(errorText(new RpcError(1, "No 'a\u202eb'", "\u202e"))) as {
      message: string;
      data: unknown;
    };
    assert.equal(message, String.raw`No 'a\u202eb'`);
    assert.equal(data, "\u202e", "data is for programs");
  });

  it("has no secret in its message", () => {
    holdSecret("held-by-the-gateway");
    const text = errorText(new RpcError(1, "It said: held-by-the-gateway, DB_PASSWORD=hunter2"));
    assert.equal(text, '{"code":1,"message":"It said: •••, DB_PASSWORD=•••"}');
  });
});

describe("toRpcError()", () => {
  const fail = (): never => assert.fail("it is no fault of the program");

  it("has the words of a limit first, since the code's own are about another limit", () => {
    const words = "Cannot begin a turn: 5 of 5 seconds are used.";
    const { code, message } = toRpcError(new TrunklineError("limit", words), fail);
    assert.deepEqual([code, message], [-32028, words]);
  });

  it("has the code's words before those of other failures", () => {
    const { code, message } = toRpcError(new TrunklineError("usage", "'x' is missing"), fail);
    assert.deepEqual([code, message], [-32602, "Invalid params: 'x' is missing"]);
  });

  it("has -32603 for no failure that has words", () => {
    const codes: Record<ErrorCode, number> = {
      usage: -32602,
      config: -32030,
      untrusted: -32031,
      "not-found": -32602,
      unavailable: -32032,
      timeout: -32001,
      cancelled: -32800,
      limit: -32028,
      closed: -32033,
      conflict: -32602,
    };
    for (const [name, code] of Object.entries(codes)) {
      const error = toRpcError(new TrunklineError(name as ErrorCode, "Words"), fail);
      assert.equal(error.code, code, name);
      assert.match(error.message, /Words$/);
    }
    const full = Object.assign(new Error("ENOSPC: no space left on device, write"), {
      code: "ENOSPC",
    });
    assert.equal(toRpcError(full, fail).code, -32034);
  });
});
