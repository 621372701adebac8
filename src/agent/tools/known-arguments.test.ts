import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { call, read } from "../../../test/agent/call-tools.ts";
import { inputOf } from "./agent-tool.ts";
import { ignoredText, knownArguments } from "./tool-runner.ts";

const SCHEMA = inputOf(
  {
    path: { type: "string" },
    edits: { type: "array", items: inputOf({ old: { type: "string" } }, ["old"]) },
    free: { type: "object" },
  },
  ["path"],
);

describe("knownArguments()", () => {
  it("removes what a closed schema does not have, at every depth, and nothing else", () => {
    const args = { path: "a", why: 1, edits: [{ old: "x", note: 2 }], free: { any: 3 } };
    const known = knownArguments(args, SCHEMA);
    assert.deepEqual(known.args, { path: "a", edits: [{ old: "x" }], free: { any: 3 } });
    assert.deepEqual(known.unknown, ["why", "edits.0.note"]);
    const open = knownArguments({ other: 1 }, { type: "object", properties: {} });
    assert.deepEqual(open, { args: { other: 1 }, unknown: [] });
    const pattern = { ...SCHEMA, patternProperties: { "^x-": {} } };
    assert.deepEqual(knownArguments({ path: "a", "x-b": 1 }, pattern).unknown, []);
  });

  it("keeps the number of names that are mentioned small", () => {
    const names = Array.from({ length: 50 }, (_, index) => `n${index}`);
    assert.match(ignoredText(names), /'n9' and 40 more\.\)$/);
    assert.equal(ignoredText([]), "");
  });

  it("lets a call work that has an unknown argument, and tells the model", async () => {
    const { answers, turn } = await call(
      [read("a.txt", { explanation: "to see" }), { name: "read_file", arguments: { file: "a" } }],
      { files: { "a.txt": "one\n" } },
    );
    assert.deepEqual(turn.ends, ["completed", "failed"]);
    assert.match(answers[0] ?? "", /1\tone\n\(Ignored.*'explanation'/);
    assert.match(answers[1] ?? "", /Invalid arguments.*path.*Ignored.*'file'/s);
  });
});
