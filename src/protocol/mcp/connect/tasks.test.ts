import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { LEGACY, type Script } from "../../../../test/upstream/scripted-server.ts";
import { covers } from "../../../../test/support/requirement.ts";

const accept = () => ({ action: "accept", content: {} });

describe("McpClient questions of a server of 2025-11-25", () => {
  it("can be asked as tasks, and fetched later", async () => {
    covers("mcp.tasks.asked-as-task");
    const script: Script = {
      ...LEGACY,
      "tools/call": async (_, server) => {
        const begun = await server.request("elicitation/create", { task: { ttl: 1000 } });
        const { taskId } = begun["result"].task as { taskId: string };
        const result = await server.request("tasks/result", { taskId });
        const task = await server.request("tasks/get", { taskId });
        return { content: [], answer: result["result"], status: task["result"].status };
      },
    };
    await using pair = await ClientPair.connect(script);
    const context = new SampleContext({ answers: { "elicitation/create": accept } });
    const result = await pair.client.callTool("echo", {}, context);
    assert.equal((result.answer as { action: string }).action, "accept");
    assert.equal(result.status, "completed");
    assert.deepEqual(context.asked[0]?.params, {});
  });
});
