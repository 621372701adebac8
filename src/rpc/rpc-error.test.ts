import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { errorText, RpcError } from "./rpc-error.ts";

describe("errorText()", () => {
  it("escapes hidden characters in values of the message", () => {
    const { message, data } = JSON.parse(errorText(new RpcError(1, "No 'a\u202eb'", "\u202e"))) as {
      message: string;
      data: unknown;
    };
    assert.equal(message, String.raw`No 'a\u202eb'`);
    assert.equal(data, "\u202e", "data is for programs");
  });
});
