import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { checkPrompt } from "./prompt-content.ts";

describe("checkPrompt()", () => {
  it("accepts every kind of content, with unknown members", () => {
    checkPrompt([
      { type: "text", text: "", annotations: {} },
      { type: "image", data: "AA==", mimeType: "image/png" },
      { type: "audio", data: "AA==", mimeType: "audio/wav" },
      { type: "resource_link", uri: "file:///a", name: "a" },
      { type: "resource", resource: { uri: "file:///a", text: "a" } },
      { type: "resource", resource: { uri: "file:///a", blob: "AA==" } },
    ]);
  });

  for (const [block, words] of [
    [{ type: "video" }, /prompt\[0\]\.type' must be one of: text, image, audio/],
    [{ type: "constructor" }, /type' must be one of/],
    [{ type: "text" }, /prompt\[0\]\.text' must be a string/],
    [{ type: "text", text: "a\0" }, /text' must not contain null bytes/],
    [{ type: "image", data: "AA==" }, /mimeType' must be a string/],
    [{ type: "resource_link", uri: "file:///a" }, /name' must be a string/],
    [{ type: "resource" }, /resource\.uri' must be a string/],
    [{ type: "resource", resource: null }, /resource\.uri' must be a string/],
    [{ type: "resource", resource: { uri: "u" } }, /must have a text or a blob/],
    [{ type: "resource", resource: { uri: "u", text: "\0" } }, /must not contain null bytes/],
  ] as const) {
    it(`refuses ${JSON.stringify(block)}, and names the problem`, () => {
      assert.throws(() => checkPrompt([block]), { code: -32602, message: words });
    });
  }

  it("gives the index of the block", () => {
    const text = { type: "text", text: "fine" };
    assert.throws(() => checkPrompt([text, { type: "text" }]), /params\.prompt\[1\]\.text/);
  });
});
