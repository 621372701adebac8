import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { checkPrompt, imageBytes } from "./serve-prompts.ts";

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
    [{ type: "image", data: "A", mimeType: "image/png" }, /prompt\[0\]\.data' must be base64/],
    [{ type: "image", data: "", mimeType: "image/png" }, /data' must be base64/],
    [{ type: "image", data: "AA==AA==", mimeType: "image/png" }, /data' must be base64/],
    [{ type: "image", data: "A\nA=", mimeType: "image/png" }, /data' must be base64/],
    [{ type: "image", data: "data:image/png;base64,AA==", mimeType: "x" }, /up to the comma/],
    [{ type: "audio", data: "A-_=", mimeType: "audio/wav" }, /data' must be base64/],
    [{ type: "resource", resource: { uri: "u", blob: "!" } }, /resource\.blob' must be base64/],
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

describe("imageBytes()", () => {
  it("counts the data of images alone, whatever the parameters are", () => {
    const image = { type: "image", data: "AAAA" };
    const text = { type: "text", text: "AAAA", data: "AAAA" };
    assert.equal(imageBytes({ prompt: [image, text, image] }), 8);
    for (const wrong of [
      null,
      5,
      {},
      { prompt: "x" },
      { prompt: [null, 5, { type: "image", data: 5 }] },
    ]) {
      assert.equal(imageBytes(wrong), 0);
    }
  });
});
