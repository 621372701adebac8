import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ALL, catalogue, evaluate, OLDER } from "../../../bench/tool-search/evaluate.ts";
import { sampleTool } from "../../../test/samples/sample-context.ts";
import { textResult, type Tool } from "../tool.ts";
import { rankTools } from "./rank-tools.ts";
import { loadVocabulary } from "./vocabulary.ts";

const vocabulary = await loadVocabulary();

function tool(server: string, name: string, description?: unknown): Tool {
  const definition = { name, description, inputSchema: { type: "object" } } as Tool["definition"];
  return sampleTool(name, () => textResult(""), { definition, source: { server, name } });
}

const names = (query: string, tools: readonly Tool[]): string[] =>
  rankTools(query, tools, vocabulary).map(({ source }) => `${source?.server}/${source?.name}`);

describe("rankTools()", () => {
  it("puts the server first that the query names", () => {
    const tools = [tool("gitlab", "create_issue"), tool("github", "create_issue")];
    assert.deepEqual(names("github create issue", tools), [
      "github/create_issue",
      "gitlab/create_issue",
    ]);
    assert.deepEqual(names("gitlab create issue", tools)[0], "gitlab/create_issue");
  });

  it("hides no server whose name begins with that in the query", () => {
    const verbs = ["list", "search", "update", "close", "reopen", "create"];
    const tools = [
      ...verbs.map((verb) => tool("github", `${verb}_issue`)),
      ...verbs.map((verb) => tool("github-enterprise", `${verb}_issue`)),
      ...verbs.map((verb) => tool("linear", `${verb}_issue`)),
    ];
    const first = (query: string): string[] => names(query, tools).slice(0, 2);
    const [one, two] = ["github/create_issue", "github-enterprise/create_issue"];
    assert.deepEqual(first("github create issue"), [one, two]);
    assert.deepEqual(first("github-enterprise create issue"), [two, one]);
    assert.deepEqual(first("linear create issue")[0], "linear/create_issue");
  });

  it("takes names of files and addresses for what they name", () => {
    const tools = [tool("a", "read_file"), tool("a", "read_note"), tool("b", "open_url")];
    assert.equal(names("show me notes.txt", tools)[0], "a/read_file");
    assert.equal(names("open example.com", tools)[0], "b/open_url");
  });

  it("does not look for what is to be written", () => {
    const tools = [tool("a", "delete_page"), tool("a", "create_note")];
    assert.equal(names('write down "delete the page" as a note', tools)[0], "a/create_note");
    assert.equal(names('"delete page"', tools)[0], "a/delete_page");
  });

  it("takes the number of an issue for one", () => {
    const tools = [tool("a", "get_page"), tool("a", "get_issue")];
    assert.equal(names("show me ENG-12", tools)[0], "a/get_issue");
  });

  it("knows what people say in several words, also with others between", () => {
    const tools = [tool("a", "create_label"), tool("a", "delete_label"), tool("a", "assign_issue")];
    assert.equal(names("throw that old label away", tools)[0], "a/delete_label");
    assert.equal(names("let Peter take care of it", tools)[0], "a/assign_issue");
  });

  it("values a word by how many tools of the server have it that is meant", () => {
    const tools = [
      ...["a", "b", "c", "d", "e", "f"].map((what) => tool("crm", `cycle_${what}`)),
      ...["list", "search", "update", "close", "reopen"].map((verb) =>
        tool("linear", `${verb}_issue`),
      ),
      tool("linear", "cycle"),
      tool("linear", "issue"),
    ];
    assert.equal(names("linear issue cycle", tools)[0], "linear/cycle");
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
  // The queries of these servers were written when the ranking was first made. See docs/PERFORMANCE.md.
  for (const [which, tools] of [
    ["of other servers than it was tuned with", catalogue("held-out")],
    ["of all servers", catalogue(...OLDER)],
  ] as const) {
    it(`has the right one among the first five, ${which}`, () => {
      const found = evaluate("held-out", tools);
      assert.ok(found.tools >= 500, String(found.tools));
      assert.ok(found.keywords >= 0.98, `${found.keywords}: ${found.misses.join("\n")}`);
      assert.ok(found.sentences >= 0.93, `${found.sentences}: ${found.misses.join("\n")}`);
      // Committed before the ranking was tuned for sentences; what it misses of these was not looked at.
      const told = evaluate("sentences", tools);
      assert.ok(told.queries >= 240, String(told.queries));
      assert.ok(told.sentences >= 0.905, `${told.sentences}: ${told.misses.join("\n")}`);
      assert.ok(told.unnamed >= 0.73, `${told.unnamed}: ${told.misses.join("\n")}`);
    });
  }

  for (const [which, tools] of [
    ["of eleven further servers", catalogue("fresh")],
    ["of all of them", catalogue(...ALL)],
  ] as const) {
    it(`has the right one among the first five for other sentences, ${which}`, () => {
      const found = evaluate("fresh", tools);
      assert.ok(found.queries >= 200, String(found.queries));
      assert.ok(found.sentences >= 0.85, `${found.sentences}: ${found.misses.join("\n")}`);
      assert.ok(found.unnamed >= 0.77, `${found.unnamed}: ${found.misses.join("\n")}`);
    });
  }
});
