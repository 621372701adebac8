import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { splitMarkdown } from "./custom-commands.ts";

describe("splitMarkdown()", () => {
  it("reads YAML, and keeps only texts", async () => {
    const text = '---\r\nname: "a: b"\nlong: >\n  one\n  two\nlist: [x]\n---\n\nBody\n---\nmore\n';
    assert.deepEqual(await splitMarkdown(text), {
      fields: { name: "a: b", long: "one two\n" },
      body: "Body\n---\nmore",
    });
  });

  it("is lenient with what is not YAML", async () => {
    const { fields } = await splitMarkdown("---\ndescription: Use when: asked\n  odd\n---\nx");
    assert.deepEqual(fields, { description: "Use when: asked" });
  });

  it("takes a text without front matter, or with an open one, as it is", async () => {
    for (const text of ["Body", "x\n---\na: b\n---\ny", "---\na: b"]) {
      assert.deepEqual(await splitMarkdown(text), { fields: {}, body: text });
    }
  });

  it("does not expand aliases without end", async () => {
    const lines = ["a: &a [x,x,x,x,x,x,x,x,x]"];
    for (let at = 1; at < 20; at++) lines.push(`b${at}: &b${at} [${"*a,".repeat(8)}*a]`);
    const { body } = await splitMarkdown(`---\n${lines.join("\n")}\n---\nx`);
    assert.equal(body, "x");
  });
});
