import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Program } from "../support/program.ts";
import { covers } from "../support/requirement.ts";

const M = "io.modelcontextprotocol/";
const _meta = { [`${M}protocolVersion`]: "2026-07-28", [`${M}clientCapabilities`]: {} };

describe("trunkline mcp, at 2026-07-28", { timeout: 600_000 }, () => {
  it("answers subscriptions when its input ends, and exits", async () => {
    covers("mcp.lifecycle.stdio-shutdown");
    await using program = new Program(["mcp"]);
    const params = { notifications: { toolsListChanged: true }, _meta };
    program.write({ jsonrpc: "2.0", id: 7, method: "subscriptions/listen", params });
    const [acknowledged] = await program.answers(1);
    assert.equal(acknowledged?.["method"], "notifications/subscriptions/acknowledged");
    program.child.stdin.end();
    const [, answer] = await program.answers(2);
    // It would be an error had it been kept waiting for the listener.
    assert.equal(answer?.["id"], 7);
    assert.equal(answer?.["result"]?.["resultType"], "complete");
    assert.equal(await program.exit, 0);
  });

  it("names what is missing if an undescribed client uses a method of this revision", async () => {
    await using program = new Program(["mcp"]);
    program.write({ jsonrpc: "2.0", id: 1, method: "server/discover" });
    program.write({ jsonrpc: "2.0", id: 2, method: "server/discover", params: { _meta } });
    const [bare, full] = await program.answers(2);
    assert.equal(bare?.["error"]?.["code"], -32602);
    assert.equal(full?.["result"]?.["supportedVersions"]?.[0], "2026-07-28");
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});
