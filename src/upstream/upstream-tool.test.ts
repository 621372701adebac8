import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleContext } from "../../test/upstream/sample-context.ts";
import { ToolFault, type ToolResult } from "../tool/tool.ts";
import type { McpClient } from "../protocol/mcp/connect/connect.ts";
import type { UpstreamSettings } from "./settings.ts";
import { ResourceAddresses } from "./resource-addresses.ts";
import type { Upstream } from "./upstream.ts";
import { upstreamTool } from "./upstreams.ts";

/** An upstream as far as a tool of it needs one: its server answers what it is told to. */
function toolOf(settings: UpstreamSettings, answer: () => Promise<ToolResult>) {
  const client = { resumeTask: answer } as unknown as McpClient;
  const upstream = {
    name: "far",
    settings,
    useFor: (_: unknown, work: (client: McpClient) => Promise<ToolResult>) => work(client),
    passer: () => undefined,
    use: (work: (client: McpClient) => Promise<ToolResult>) => work(client),
  };
  const addresses = new ResourceAddresses(
    () => undefined,
    () => {},
  );
  return upstreamTool(upstream as unknown as Upstream, { name: "slow" }, "far_slow", addresses);
}

const HTTP = { url: "http://127.0.0.1:1/mcp" };

describe("a tool whose call another server goes on with", () => {
  it("can be waited for again where the server does not end with us", async () => {
    const answer = { content: [] };
    const tool = toolOf(HTTP, async () => answer);
    assert.equal(await tool.resume?.("there-1", new SampleContext()), answer);
    assert.equal("resume" in toolOf({ command: "server" }, async () => answer), false);
  });

  it("has failed in words where the server has forgotten the task", async () => {
    const tool = toolOf(HTTP, async () => {
      throw new ToolFault(-32602, "no task has the id 'there-1'");
    });
    await assert.rejects(tool.resume?.("there-1", new SampleContext()) ?? Promise.resolve(), {
      code: -32035,
      message: /'far' does not know its task any more.*restarted\. Call the tool again/,
    });
    const broken = toolOf(HTTP, async () => {
      throw new ToolFault(-32000, "busy");
    });
    await assert.rejects(broken.resume?.("there-1", new SampleContext()) ?? Promise.resolve(), {
      message: "busy",
    });
  });
});
