import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TextChunk } from "../../session/client/text-chunk.ts";
import { ChunkLines } from "./chunk-lines.ts";

const lineOf = (text: string, { sessionId = "s", kind = "agent_message_chunk", id = {} } = {}) =>
  JSON.stringify({
    jsonrpc: "2.0",
    method: "session/update",
    params: {
      sessionId,
      update: { sessionUpdate: kind, content: { type: "text", text }, ...id },
    },
  });

/** The text of a line, with the JSON string of the text replaced by `raw`. */
const lineWith = (raw: string): string => lineOf("@").replace('"@"', raw);

/** Checks that a line is read as a parser reads it. */
function assertRead(lines: ChunkLines, line: string): void {
  const params = lines.read(line);
  assert.ok(params !== undefined, line);
  assert.ok(TextChunk.is(params.update));
  const { sessionId, update } = JSON.parse(line).params;
  assert.equal(params.sessionId, sessionId);
  assert.equal(params.update.sessionUpdate, update.sessionUpdate);
  assert.deepEqual(JSON.parse(params.update.json), update);
  const { head, body, tail, json } = params.update;
  assert.equal(`${head}${body}${tail}`, json);
}

describe("ChunkLines", () => {
  it("reads pieces of text, whatever they contain", () => {
    const lines = new ChunkLines();
    for (const text of [
      "",
      "word ",
      'say "hi"',
      "\\",
      '\\"}}}}',
      '"}}}}',
      '"},"messageId":"x"}}}',
      "\u0000\u001f\u007f\n",
      "é 日本 🙂 \u2028 \ud83d",
      ENVELOPE,
      "x".repeat(60_000),
    ]) {
      assertRead(lines, lineOf(text));
    }
    for (const raw of [String.raw`"\/ \u0041 \uD83d\uDE42"`, '"\u007f"']) {
      assertRead(lines, lineWith(raw));
    }
  });

  it("follows a change of the session, of the kind and of the message", () => {
    const lines = new ChunkLines();
    const first = lineOf("@", { id: { messageId: "m" } });
    const idFirst = first
      .replace(',"messageId":"m"', "")
      .replace('"content"', '"messageId":"m","content"');
    for (const line of [
      lineOf("a"),
      lineOf("a", { sessionId: "t" }),
      lineOf("a", { kind: "agent_thought_chunk" }),
      lineOf("a", { kind: "user_message_chunk" }),
      first,
      lineOf("b", { id: { messageId: "n" } }),
      idFirst,
      lineOf("a"),
      lineOf(""),
    ]) {
      assertRead(lines, line);
    }
  });

  const chunk = lineOf("a");
  const hostile: readonly (readonly [string, string])[] = [
    [
      "a member that is repeated",
      chunk.replace('"sessionId":"s"', '"sessionId":"s","sessionId":"t"'),
    ],
    ["a second session after the update", chunk.replace(/\}\}$/, ',"sessionId":"t"}}')],
    ["a second update", chunk.replace(/\}\}$/, ',"update":{"sessionUpdate":"plan"}}}')],
    ["a second text", lineWith('"a","text":"b"')],
    [
      "two ids of the message",
      lineOf("a", { id: { messageId: "m" } }).replace('"content"', '"messageId":"n","content"'),
    ],
    ["a request", chunk.replace('"method"', '"id":1,"method"')],
    ["an id after the parameters", chunk.replace(/\}$/, ',"id":1}')],
    ["__proto__", lineWith('"a","__proto__":{"x":1}')],
    ["annotations", lineWith('"a","annotations":{}')],
    ["_meta", lineOf("a", { id: { _meta: {} } })],
    ["an unknown kind", lineOf("a", { kind: "plan" })],
    ["a session id with escapes", lineOf("a", { sessionId: 'a"b' })],
    ["an escaped key", chunk.replace('"text":"a"', String.raw`"te\u0078t":"a"`)],
    ["deep nesting", lineWith(`${"[".repeat(500)}${"]".repeat(500)}`)],
    ["a number beyond 2^53", lineWith("9007199254740993")],
    ["white space", chunk.replace('"params":', '"params": ')],
    ["a raw control character", lineWith('"\t"')],
    ["a raw quote", lineWith('"a"b"')],
    ["half an escape", lineWith(String.raw`"a\"`)],
    ["an unknown escape", lineWith(String.raw`"\x"`)],
    ["half of \\u", lineWith(String.raw`"\u12"`)],
    ["a brace too many", `${chunk}}`],
    ["a brace too few", chunk.slice(0, -1)],
    ["text after the end", `${chunk} x`],
    ["more than 64 KB", lineOf("x".repeat(65_536))],
    ["a text that is cut off", chunk.slice(0, chunk.indexOf('"a"') + 1)],
    ["nothing", ""],
  ];
  for (const [what, line] of hostile) {
    it(`leaves ${what} to the parser`, () => {
      const lines = new ChunkLines();
      assert.equal(lines.read(line), undefined);
      // Nor is it read after a line that was.
      assertRead(lines, lineOf("a"));
      assert.equal(lines.read(line), undefined);
      assertRead(lines, lineOf("a"));
    });
  }

  it("never reads what a parser refuses, and reads the same where it does", () => {
    const lines = new ChunkLines();
    const alphabet = ['"', "\\", "u", "0", "}", "{", ",", "a", "\n", "é", ":", "[", "/"];
    const seed = { at: 7 };
    const pick = (most: number): number => {
      seed.at = (Math.imul(seed.at, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((seed.at / 2 ** 32) * most);
    };
    let read = 0;
    for (let round = 0; round < 20_000; round++) {
      const line = lineOf("ab");
      const at = pick(line.length);
      const inserted = Array.from({ length: pick(4) }, () => alphabet[pick(alphabet.length)]).join(
        "",
      );
      const hacked = line.slice(0, at) + inserted + line.slice(at + pick(3));
      const params = lines.read(hacked);
      if (params === undefined) continue;
      read++;
      const { update } = JSON.parse(hacked).params;
      assert.deepEqual(JSON.parse(JSON.stringify(params.update)), update);
    }
    assert.ok(read > 100, String(read));
  });
});

const ENVELOPE = '{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"';
