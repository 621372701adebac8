import assert from "node:assert/strict";
import { it } from "node:test";

import { contentLength } from "./content-length.ts";

function decoded(chunks: readonly (string | Buffer)[], limit = 1_000): string[] {
  const found: string[] = [];
  const decoder = contentLength.decoder(limit, {
    text: (text) => found.push(text),
    fault: ({ kind, size }) => found.push(`${kind} ${size}`),
  });
  for (const chunk of chunks) decoder.push(Buffer.from(chunk));
  decoder.end();
  return found;
}

const HEAD = "Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n";

it("finds messages however the chunks fall, with any other lines before them", () => {
  const messages = ['{"a":"ü€"}', "{}", "x".repeat(999)];
  const [first = "", ...others] = messages.map((text) => contentLength.encode(text));
  const bytes = Buffer.from(HEAD + first + others.join(""));
  for (const size of [1, 2, 3, 7, 64, bytes.length]) {
    const count = Math.ceil(bytes.length / size);
    const chunks = Array.from({ length: count }, (_, n) =>
      bytes.subarray(n * size, (n + 1) * size),
    );
    assert.deepEqual(decoded(chunks), messages);
  }
});

it("passes over a message that is too large or no text, and goes on after it", () => {
  const large = contentLength.encode("y".repeat(1_001));
  const broken = Buffer.concat([Buffer.from("content-length:2\r\n\r\n"), Buffer.of(0xc3, 0x28)]);
  const found = decoded([large, broken, contentLength.encode("{}")]);
  assert.deepEqual(found, ["oversize 1001", "encoding 2", "{}"]);
});

it("reads nothing more after lines that tell no length, or too many of them", () => {
  for (const head of ["{}\r\n\r\n", "Content-Length: -1\r\n\r\n", "a: b\r\n".repeat(2_000)]) {
    const found = decoded([head, contentLength.encode("{}")]);
    assert.equal(found.length, 1);
    assert.match(found[0] ?? "", /^encoding /);
  }
  assert.deepEqual(decoded(["Content-Length: 5\r\n\r\nab"]), ["encoding 2"]);
});
