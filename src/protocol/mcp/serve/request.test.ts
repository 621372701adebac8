import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { fixtureOffer } from "../../../../test/conformance/fixture/offer.ts";
import { covers } from "../../../../test/support/requirement.ts";
import { RawClient } from "../../../../test/upstream/raw-client.ts";
import { McpDoor } from "./door.ts";

const door = (): McpDoor => new McpDoor({ offer: fixtureOffer() });
const META = "io.modelcontextprotocol/";

describe("McpDoor.serve()", { timeout: 600_000 }, () => {
  it("answer each request once, under its id, and notifications never", async () => {
    covers("mcp.base.same-id", "mcp.base.notification-silent", "mcp.base.method-not-found");
    await using client = await RawClient.connect(door(), { revision: "2025-11-25" });
    const before = client.messages.length;
    client.notify("notifications/initialized");
    client.notify("notifications/nobody/knows", { a: 1 });
    const { error, id } = await client.request("no/such/method");
    assert.equal(error.code, -32601);
    assert.equal(client.messages.length, before + 1);
    assert.equal(client.messages.at(-1)?.["id"], id);
  });

  it("report an unknown method before a mistake in its parameters", async () => {
    await using client = await RawClient.connect(door(), { revision: "2026-07-28" });
    const { error } = await client.request("resources/subscribe", { uri: 5 });
    assert.equal(error.code, -32601);
    assert.equal((await client.request("resources/read", { uri: 5 }))["error"].code, -32602);
  });

  it("use what each request says about its client, whatever came before on the connection", async () => {
    covers("mcp.modern.stateless", "mcp.modern.dual-era");
    await using client = await RawClient.connect(door(), { revision: "2025-11-25" });
    const _meta = {
      [`${META}protocolVersion`]: "2026-07-28",
      [`${META}clientCapabilities`]: {},
    };
    const modern = await client.request("tools/list", { _meta });
    assert.equal(modern["result"].resultType, "complete");
    const legacy = await client.request("tools/list");
    assert.ok(!("resultType" in legacy["result"]));
    const wrong = await client.request("tools/list", {
      _meta: { ..._meta, [`${META}protocolVersion`]: "2030-01-01" },
    });
    assert.equal(wrong["error"].code, -32022);
  });

  it("treat a client that asks before initialize as one of the oldest revision", async () => {
    const plain = await RawClient.connect(door(), { revision: "2026-07-28" });
    await using client = plain;
    // The envelope of this client is left out.
    const { result } = await client.request("tools/list", {
      _meta: { [`${META}protocolVersion`]: undefined },
    });
    assert.ok(result.tools.every((tool: object) => !("annotations" in tool)));
    assert.ok(!("resultType" in result));
  });
});
