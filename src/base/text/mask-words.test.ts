import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { maskWords } from "./mask-words.ts";

const TOKEN = `ghp_${"a1".repeat(18)}`;

describe("maskWords()", () => {
  it("masks secrets that are a word, by their shape and by the name of their field", () => {
    const value = { text: `use ${TOKEN} now`, token: "s3cret", list: [{ password: "x" }] };
    assert.deepEqual(maskWords(value), {
      text: "use ••• now",
      token: "•••",
      list: [{ password: "•••" }],
    });
    const key = "-----BEGIN PRIVATE KEY-----\nMIIB+/==\n-----END PRIVATE KEY-----";
    assert.equal(maskWords(`<${key}>`), "<•••>");
  });

  it("shows what could be a command", () => {
    const commands = [
      "curl 'https://example.org/?token=$(rm${IFS}-rf${IFS}~)'",
      "git clone https://a:$(evil)@example.org/x",
      "echo '-----BEGIN PRIVATE KEY-----'; rm -rf ~",
      "echo '-----BEGIN PRIVATE KEY-----'; rm -rf ~; echo '-----END PRIVATE KEY-----'",
    ];
    for (const command of commands) assert.equal(maskWords(command), command);
    assert.deepEqual(maskWords({ auth: "rm -rf ~" }), { auth: "rm -rf ~" });
    assert.deepEqual(maskWords({ token: { command: "rm" } }), { token: { command: "rm" } });
  });

  it("leaves nothing out", () => {
    const value = { text: "word ".repeat(100_000), many: Array.from({ length: 20_000 }, () => 1) };
    assert.deepEqual(maskWords(value), value);
    let deep: unknown = "end";
    for (let level = 0; level < 200; level++) deep = [deep];
    assert.deepEqual(maskWords(deep), deep);
  });

  it("keeps fields whatever their names", () => {
    const value = JSON.parse(`{"__proto__":{"a":1},"constructor":2}`) as object;
    assert.equal(JSON.stringify(maskWords(value)), JSON.stringify(value));
  });
});
