import { connectClient } from "../../../../test/upstream/connect-client.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { ClientPair } from "../../../../test/upstream/client-pair.ts";
import {
  LEGACY,
  MODERN,
  type Script,
  ScriptedServer,
  SILENCE,
} from "../../../../test/upstream/scripted-server.ts";
import { covers } from "../../../../test/support/requirement.ts";

describe("McpClient.connect()", () => {
  it("times out, and closes the channel", async () => {
    covers("mcp.lifecycle.timeout");
    const server = new ScriptedServer({
      "server/discover": () => SILENCE,
      initialize: () => SILENCE,
    });
    const connecting = connectClient(server.channel, { timeout: 20, probe: 5 });
    await assert.rejects(connecting, /No answer to the handshake within 20 ms/);
    await server.left;
  });
});

describe("McpClient lists", () => {
  it("all pages, and stops when a cursor is repeated", async () => {
    covers("mcp.pagination.client");
    let asked = 0;
    const script: Script = {
      ...LEGACY,
      "tools/list": ({ cursor }) => {
        asked++;
        return {
          tools: [{ name: `t-${cursor ?? 0}` }, "nonsense"],
          nextCursor: asked > 2 ? "2" : `${asked}`,
        };
      },
    };
    await using pair = await ClientPair.connect(script);
    const tools = await pair.client.listTools();
    assert.deepEqual(tools, [{ name: "t-0" }, { name: "t-1" }, { name: "t-2" }]);
  });

  it("nothing that the server does not declare", async () => {
    covers("mcp.lifecycle.negotiated-only");
    await using pair = await ClientPair.connect(LEGACY);
    assert.deepEqual(await pair.client.listResources(), []);
    assert.equal(pair.server.asked("resources/list").length, 0);
  });

  it("only tools that the transport can call", async () => {
    const canCall = ({ name }: { name?: unknown }): boolean => name !== "echo";
    await using modern = await ClientPair.connect(MODERN, { canCall });
    assert.deepEqual(await modern.client.listTools(), []);
    await using legacy = await ClientPair.connect(LEGACY, { canCall });
    assert.equal((await legacy.client.listTools()).length, 1);
  });

  it("with an error if the answer is not a list", async () => {
    await using pair = await ClientPair.connect({
      ...LEGACY,
      "tools/list": () => ({ tools: "none" }),
    });
    await assert.rejects(pair.client.listTools(), /the server's list has no array 'tools'/);
  });
});

describe("McpClient.watch()", () => {
  const capabilities = { resources: { subscribe: true, listChanged: true } };

  it("subscribes at a server of 2025-11-25, and passes its notifications on", async () => {
    const updated: string[] = [];
    const script: Script = {
      ...LEGACY,
      initialize: () => ({ protocolVersion: "2025-06-18", capabilities }),
      "resources/subscribe": ({ uri }, server) => {
        server.notify("notifications/resources/updated", { uri });
        return {};
      },
    };
    const events = { resourceUpdated: (uri: string) => updated.push(uri) };
    await using pair = await ClientPair.connect(script, { events });
    await pair.client.watch("x://1");
    assert.deepEqual(updated, ["x://1"]);
  });
});
