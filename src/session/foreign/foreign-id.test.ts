import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { foreignId, readForeignId } from "./foreign-id.ts";

describe("foreignId()", () => {
  it("says which session of which agent it is, in characters that any file name can have", () => {
    for (const name of [
      { agent: "claude", id: "0197-ab" },
      { agent: "my agent/x", id: '../../etc\n"passwd"' },
      { agent: "ä", id: "セッション" },
    ]) {
      const id = foreignId(name) ?? "";
      assert.match(id, /^agent\.[A-Za-z0-9_-]+$/);
      assert.ok(id.length < 250);
      assert.deepEqual(readForeignId(id), name);
    }
  });

  it("has none for an id that is empty or too long", () => {
    assert.equal(foreignId({ agent: "a", id: "" }), undefined);
    assert.equal(foreignId({ agent: "a", id: "x".repeat(200) }), undefined);
  });
});

describe("readForeignId()", () => {
  it("takes no other id for one", () => {
    const encode = (value: unknown) =>
      `agent.${Buffer.from(JSON.stringify(value)).toString("base64url")}`;
    for (const id of [
      "b1946ac9-2492-4d23-8f7a-000000000000",
      "agent.",
      "agent.####",
      "agent.e30",
      encode(["a", ""]),
      encode(["a", 1]),
      `agent.${"A".repeat(2_000)}`,
    ]) {
      assert.equal(readForeignId(id), undefined, id);
    }
  });
});
