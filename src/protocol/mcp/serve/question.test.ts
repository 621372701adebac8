import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { agreeOn } from "../revision/revisions.ts";
import type { Client } from "./connection.ts";
import { shapeQuestion } from "./question.ts";
import { covers } from "../../../../test/support/requirement.ts";

const client = (revision: string): Client => ({
  codec: agreeOn(revision),
  capabilities: {},
  name: "test",
  logLevel: undefined,
});

describe("shapeQuestion()", () => {
  const params = { mode: "form", message: "Delete\u202e a?\x1b[8m", requestedSchema: {} };
  const question = { method: "elicitation/create", params };

  it("escapes hidden characters of another server for a person", () => {
    covers("mcp.elicitation.mode");
    const message = String.raw`Delete\u202e a?\u001b[8m`;
    assert.deepEqual(shapeQuestion(client("2025-11-25"), question), { ...params, message });
    assert.deepEqual(shapeQuestion(client("2025-06-18"), question), {
      message,
      requestedSchema: {},
    });
  });

  it("leaves members alone that no person reads", () => {
    const asked = { method: "sampling/createMessage", params };
    assert.deepEqual(shapeQuestion(client("2025-06-18"), asked), params);
  });
});
