import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { typedText } from "./instructions.ts";

describe("typedText()", () => {
  it("returns the typed command without what the client adds", () => {
    const text = (words: string) => ({ type: "text", text: words });
    const mention = { type: "resource_link", uri: "file:///a", name: "a" };
    assert.equal(typedText([text("/search one"), text("<time>now</time>")]), "/search one");
    assert.equal(typedText([text("/commit see"), mention, text("too")]), "/commit see\ntoo");
    assert.equal(typedText([]), "");
  });
});
