import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type AgentTool, inputOf } from "./agent-tool.ts";
import { MORE_TOOLS, ToolGroups } from "./tool-groups.ts";

function tool(name: string, group?: string, size = 10): AgentTool {
  return {
    name,
    group,
    description: "x".repeat(size),
    inputSchema: inputOf({}, []),
    kind: "other",
    need: "run",
    title: () => name,
    call: async () => ({ text: "" }),
  };
}

const mapOf = (...tools: AgentTool[]): Map<string, AgentTool> => {
  return new Map(tools.map((each) => [each.name, each]));
};

const offered = (tools: Map<string, AgentTool>, groups: ToolGroups): string[] => {
  return [...tools.values()].filter((each) => groups.isOffered(each)).map(({ name }) => name);
};

describe("ToolGroups", () => {
  it("offers the tools of servers as long as there is room for them", () => {
    const groups = new ToolGroups();
    const tools = mapOf(tool("a"), tool("b", "big", 15_000), tool("c", "huge", 15_000));
    groups.prepare(tools, "go");
    assert.deepEqual(offered(tools, groups), ["a", "b", MORE_TOOLS]);
    assert.match(tools.get(MORE_TOOLS)?.description ?? "", /huge \(server: c\)/);
  });

  it("opens a server that the prompt names, by its name or that of a tool", () => {
    for (const prompt of ["ask Huge about it", "call 'huge_dig'.", "no such word"]) {
      const groups = new ToolGroups();
      const tools = mapOf(tool("huge_dig", "huge", 20_000));
      groups.prepare(tools, prompt);
      assert.equal(offered(tools, groups).includes("huge_dig"), !prompt.startsWith("no"), prompt);
      assert.equal(tools.has(MORE_TOOLS), prompt.startsWith("no"), prompt);
    }
  });

  it("keeps a group open in later turns", () => {
    const groups = new ToolGroups();
    const tools = mapOf(tool("review_list", "reviews"));
    groups.prepare(tools, "see the review");
    groups.prepare(tools, "go on");
    assert.deepEqual(offered(tools, groups), ["review_list"]);
  });
});
