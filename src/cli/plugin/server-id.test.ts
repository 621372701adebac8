import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nameOf } from "./approve.ts";

describe("nameOf()", () => {
  const cases: [words: string[], id: string][] = [
    [["npx", "-y", "@modelcontextprotocol/server-memory"], "mcp.server-memory"],
    [["npx", "server-files@2.1.0", "."], "mcp.server-files"],
    [["node", "/opt/it/notes.mjs"], "mcp.notes"],
    [["./bin/server"], "mcp.server"],
    [["npx"], "mcp.npx"],
    [["--", "?"], "mcp.server"],
  ];
  for (const [words, id] of cases) {
    it(`calls ${words.join(" ")} ${id}`, () => assert.equal(nameOf(words), id));
  }
});
