import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { catalogue, evaluate } from "../../../bench/tool-search/evaluate.ts";
import { sampleTool } from "../../../test/samples/sample-context.ts";
import { textResult, type Tool } from "../tool.ts";
import { rankTools } from "./profile.ts";

function tool(server: string, name: string, description?: unknown): Tool {
  const definition = { name, description, inputSchema: { type: "object" } } as Tool["definition"];
  return sampleTool(name, () => textResult(""), { definition, source: { server, name } });
}

const names = (query: string, tools: readonly Tool[]): string[] =>
  rankTools(query, tools).map(({ source }) => `${source?.server}/${source?.name}`);

describe("rankTools()", () => {
  it("puts the server first that the query names", () => {
    const tools = [tool("gitlab", "create_issue"), tool("github", "create_issue")];
    assert.deepEqual(names("github create issue", tools), [
      "github/create_issue",
      "gitlab/create_issue",
    ]);
    assert.deepEqual(names("gitlab create issue", tools)[0], "gitlab/create_issue");
  });

  it("prefers a name without further words", () => {
    const tools = [tool("a", "create_issue_comment_reaction"), tool("a", "create_issue")];
    assert.equal(names("create issue", tools)[0], "a/create_issue");
  });

  it("knows other words for the same", () => {
    const tools = [tool("a", "list_users"), tool("a", "delete_directory"), tool("a", "read_file")];
    assert.equal(names("get rid of a folder", tools)[0], "a/delete_directory");
  });

  it("leaves out what has nothing to do with the query", () => {
    assert.deepEqual(names("xyzzy", [tool("a", "list_users")]), []);
    assert.deepEqual(names("the of", [tool("a", "list_users")]), []);
    assert.deepEqual(names("list", []), []);
  });

  it("searches in the tools that it is given, not in those of the search before", () => {
    assert.deepEqual(names("list users", [tool("a", "list_users")]), ["a/list_users"]);
    assert.deepEqual(names("list users", [tool("b", "list_users")]), ["b/list_users"]);
  });

  it("bears what a server may send for texts", () => {
    const odd = { ...tool("a", "constructor", { not: "text" }) };
    const schema = { properties: { __proto__: null, toString: null, x: { description: 1 } } };
    const worse = { ...odd, definition: { ...odd.definition, inputSchema: schema } };
    assert.deepEqual(names("constructor", [worse]), ["a/constructor"]);
    assert.deepEqual(names("hasOwnProperty __proto__ toString", [tool("a", "b")]), []);
  });
});

describe("rankTools() with tools of real servers", () => {
  // The queries of these servers were written when the ranking was done, and it was not changed for them.
  for (const [which, tools] of [
    ["of other servers than it was tuned with", catalogue("held-out")],
    ["of all servers", catalogue()],
  ] as const) {
    it(`has the right one among the first five, ${which}`, () => {
      const found = evaluate("held-out", tools);
      assert.ok(found.tools >= 500, String(found.tools));
      assert.ok(found.keywords >= 0.98, `${found.keywords}: ${found.misses.join("\n")}`);
      assert.ok(found.sentences >= 0.8, `${found.sentences}: ${found.misses.join("\n")}`);
    });
  }
});
