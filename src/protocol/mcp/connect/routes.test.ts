import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import { LEGACY } from "../../../../test/upstream/scripted-server.ts";
import { covers } from "../../../../test/support/requirement.ts";

describe("McpClient requests of a server of 2025-11-25", () => {
  it("are answered for ping, and refused for unknown methods", async () => {
    covers("mcp.ping.client");
    await using pair = await ClientPair.connect(LEGACY);
    assert.deepEqual((await pair.server.request("ping"))["result"], {});
    assert.equal((await pair.server.request("no/such"))["error"].code, -32601);
  });
});
