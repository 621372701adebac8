import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { SessionError, type SessionProblem } from "../../session/session-error.ts";
import { fromWire, toWire } from "./session-errors.ts";

const PROBLEMS: readonly SessionProblem[] = [
  "session-not-found",
  "session-expired",
  "session-locked",
  "tool-not-found",
  "tool-disabled",
  "tool-timeout",
  "file-not-found",
  "permission-denied",
  "file-too-large",
  "mcp-error",
  "mcp-unavailable",
  "auth-required",
];

describe("toWire() and fromWire()", () => {
  it("convert every problem to the wire and back, each under its own code", () => {
    const codes = new Set<number>();
    for (const problem of PROBLEMS) {
      const sent = toWire(new SessionError(problem, "About it", { path: "/a" }));
      assert.ok(sent instanceof RpcError);
      codes.add(sent.code);
      const received = fromWire(sent);
      assert.ok(received instanceof SessionError);
      assert.equal(received.problem, problem);
      assert.deepEqual(received.data, { path: "/a", details: "About it" });
    }
    assert.equal(codes.size, PROBLEMS.length);
  });

  it("escape hidden characters in a message", () => {
    const sent = toWire(new SessionError("file-not-found", "No '\u202efile'"));
    assert.match(JSON.stringify(sent instanceof RpcError && sent.data), /\\\\u202e/);
  });

  it("leave everything else unchanged", () => {
    const errors = [new TrunklineError("usage", "x"), new Error("x"), "text"];
    for (const error of errors) {
      assert.equal(toWire(error), error);
      assert.equal(fromWire(error), error);
    }
    const unknown = new RpcError(-32603, "Internal error");
    assert.equal(fromWire(unknown), unknown);
  });

  it("ignore data that is not an object", () => {
    const received = fromWire(new RpcError(-31700, "File not found", "why"));
    assert.ok(received instanceof SessionError);
    assert.deepEqual(received.data, {});
  });
});
