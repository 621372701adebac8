import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { contentText, isContent } from "./content-text.ts";

describe("contentText()", () => {
  it("describes every kind of content, also if members are missing", () => {
    const content = [
      { type: "text", text: "plain" },
      { type: "resource_link", name: "notes", uri: "file:///n" },
      { type: "resource_link" },
      { type: "resource", resource: { uri: "a:b", text: "inside" } },
      { type: "resource", resource: { uri: "a:b", blob: "AA==" } },
      { type: "resource" },
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "video" },
    ];
    assert.deepEqual(contentText(content).split("\n"), [
      "plain",
      "notes: file:///n",
      "resource: ?",
      "inside",
      "[resource, a:b]",
      "[resource, ?]",
      "[image, image/png]",
      "[video, of no known type]",
    ]);
  });
});

describe("isContent()", () => {
  it("distinguishes complete MCP content from data that only looks like it", () => {
    const good = [
      [{ type: "text", text: "" }],
      [{ type: "image", data: "", mimeType: "image/png" }],
      [
        { type: "resource", resource: { uri: "a:b" } },
        { type: "resource_link", uri: "a", name: "b" },
      ],
    ];
    for (const content of good) assert.equal(isContent(content), true);
    const bad: unknown[] = [
      ...["text", null, [], [null], [{ type: "text" }], [{ type: "audio", data: "" }]],
      ...[[{ type: "resource", resource: null }], [{ type: "text", text: "" }, { type: "other" }]],
    ];
    for (const content of bad) assert.equal(isContent(content), false, JSON.stringify(content));
  });
});
