import assert from "node:assert/strict";
import { test } from "node:test";
import { editDistance, suggest } from "./suggest.ts";

const COMMANDS = ["serve", "mcp", "acp", "config", "completion", "help"];

test("editDistance() counts insertions, deletions, changes and swaps of neighbours as one", () => {
  for (const [a, b, distance] of [
    ["", "", 0],
    ["", "abc", 3],
    ["abc", "", 3],
    ["serve", "serve", 0],
    ["serv", "serve", 1],
    ["servee", "serve", 1],
    ["serbe", "serve", 1],
    ["sevre", "serve", 1],
    ["ca", "abc", 3],
    ["kitten", "sitting", 3],
  ] as const) {
    assert.equal(editDistance(a, b), distance, `${a} → ${b}`);
  }
});

test("suggest() finds the intended word", () => {
  assert.deepEqual(suggest("sevre", COMMANDS), ["serve"]);
  assert.deepEqual(suggest("confg", COMMANDS), ["config"]);
  assert.deepEqual(suggest("hlep", COMMANDS), ["help"]);
  assert.deepEqual(suggest("compeltoin", COMMANDS), ["completion"]);
});

test("suggest() ignores case", () => {
  assert.deepEqual(suggest("SERVE", COMMANDS), ["serve"]);
});

test("suggest() finds words that begin with what was typed", () => {
  assert.deepEqual(suggest("comp", COMMANDS), ["completion"]);
  assert.deepEqual(suggest("co", COMMANDS), ["config", "completion"]);
});

test("suggest() prefers a name whose last word was typed", () => {
  assert.deepEqual(suggest("servers", ["server", "mcpServers", "serve"]), ["mcpServers"]);
});

test("suggest() returns all words at the smallest distance, and no others", () => {
  assert.deepEqual(suggest("ccp", COMMANDS), ["mcp", "acp"]);
  assert.deepEqual(suggest("mcp", COMMANDS), ["mcp"]);
});

test("suggest() returns nothing if no word is near", () => {
  assert.deepEqual(suggest("xyz", COMMANDS), []);
  assert.deepEqual(suggest("deploy", COMMANDS), []);
  assert.deepEqual(suggest("", COMMANDS), []);
});

test("suggest() never returns more than three", () => {
  assert.equal(suggest("aa", ["aab", "aac", "aad", "aae"]).length, 3);
});

test("suggest() takes no longer for a word of many megabytes", () => {
  assert.deepEqual(suggest("s".repeat(20_000_000), COMMANDS), []);
});
