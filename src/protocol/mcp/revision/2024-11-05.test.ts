import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import type { ToolDefinition, ToolResult } from "../../../tool/tool.ts";
import type { Codec } from "./codec.ts";
import { sessionCodec, statelessCodec } from "./revisions.ts";

const TOOL: ToolDefinition = {
  name: "echo",
  title: "Echo",
  description: "Echoes",
  inputSchema: { type: "object" },
  outputSchema: { type: "object" },
  annotations: { readOnlyHint: true },
  icons: [{ src: "data:," }],
  execution: { taskSupport: "optional" },
  unknown: 1,
};

const LINK = { type: "resource_link", name: "main.rs", uri: "file:///main.rs" };
const AUDIO = { type: "audio", data: "AA==", mimeType: "audio/wav" };
const RESULT: ToolResult = {
  content: [{ type: "text", text: "a" }, AUDIO, LINK],
  structuredContent: { a: 1 },
};

const codecOf = (revision: string): Codec => {
  const codec = sessionCodec(revision) ?? statelessCodec(revision);
  assert.ok(codec);
  return codec;
};

describe("a tool in tools/list", () => {
  const members = (revision: string, tool = TOOL): string[] =>
    Object.keys(codecOf(revision).shapeTool(tool)).toSorted();
  const plain = ["description", "inputSchema", "name", "unknown"];

  it("has the members that its client's revision knows, and unknown ones", () => {
    covers("mcp.revision.tool-members");
    const of2025 = [...plain, "annotations"];
    const titled = [...of2025, "title", "outputSchema"];
    assert.deepEqual(members("2024-11-05"), plain.toSorted());
    assert.deepEqual(members("2025-03-26"), of2025.toSorted());
    assert.deepEqual(members("2025-06-18"), titled.toSorted());
    assert.deepEqual(members("2025-11-25"), [...titled, "icons", "execution"].toSorted());
    assert.deepEqual(members("2026-07-28"), [...titled, "icons"].toSorted());
  });

  it("has an output schema before 2026-07-28 only if it describes an object", () => {
    const array = { ...TOOL, outputSchema: { type: "array" } };
    assert.ok(!members("2025-06-18", array).includes("outputSchema"));
    assert.ok(!members("2025-11-25", array).includes("outputSchema"));
    assert.ok(members("2026-07-28", array).includes("outputSchema"));
  });

  it("gets no members that it does not have", () => {
    const bare = { name: "bare", inputSchema: {} };
    for (const revision of ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"]) {
      assert.deepEqual(codecOf(revision).shapeTool(bare), bare, revision);
    }
  });
});

describe("a tool's result", () => {
  const textOf = (content: unknown): unknown => (content as { text?: string }).text;

  it("converts content that the revision does not know to text that says what it was", () => {
    covers("mcp.revision.content");
    const [, audio, link] = codecOf("2024-11-05").shapeToolResult(RESULT).content as unknown[];
    assert.equal(textOf(audio), "[audio, audio/wav]");
    assert.equal(textOf(link), "main.rs: file:///main.rs");
    const later = codecOf("2025-03-26").shapeToolResult(RESULT).content as unknown[];
    assert.deepEqual(later[1], AUDIO);
    assert.equal(textOf(later[2]), "main.rs: file:///main.rs");
    for (const revision of ["2025-06-18", "2025-11-25", "2026-07-28"]) {
      assert.equal(codecOf(revision).shapeToolResult(RESULT), RESULT);
    }
  });

  it("adds structured content as text for clients that cannot read it", () => {
    covers("mcp.tools.structured-as-text");
    const structured = { content: [], structuredContent: { a: 1 } };
    for (const revision of ["2024-11-05", "2026-07-28"]) {
      const shaped = codecOf(revision).shapeToolResult(structured);
      assert.deepEqual(shaped.content, [{ type: "text", text: '{"a":1}' }]);
      assert.equal("structuredContent" in shaped, revision === "2026-07-28");
    }
  });

  it("has structured content before 2026-07-28 only if that is an object", () => {
    const listed = { content: [], structuredContent: [1] };
    const text = { content: [{ type: "text", text: "[1]" }] };
    for (const revision of ["2025-06-18", "2025-11-25"]) {
      assert.deepEqual(codecOf(revision).shapeToolResult(listed), text, revision);
    }
    const newest = codecOf("2026-07-28").shapeToolResult(listed);
    assert.deepEqual(newest, { ...text, structuredContent: [1] });
  });

  it("keeps isError", () => {
    const failed = { content: [], isError: true, _meta: { a: 1 } };
    assert.deepEqual(codecOf("2024-11-05").shapeToolResult(failed), failed);
  });
});

it("progress has a message from 2025-03-26 on", () => {
  covers("mcp.revision.progress-message");
  assert.deepEqual(codecOf("2024-11-05").shapeProgress(1, 2, "half"), { progress: 1, total: 2 });
  const later = codecOf("2025-03-26").shapeProgress(1, 2, "half");
  assert.deepEqual(later, { progress: 1, total: 2, message: "half" });
});

it("batches exist only in 2025-03-26", () => {
  covers("mcp.revision.batches");
  const having = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"].filter(
    (revision) => codecOf(revision).has.batches,
  );
  assert.deepEqual(having, ["2025-03-26"]);
});
