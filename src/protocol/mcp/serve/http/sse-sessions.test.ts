import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { EventReader, McpHttpServer } from "../../../../../test/support/mcp-http-server.ts";
import { initialize, request } from "../../../../../test/support/mcp-session.ts";
import { covers } from "../../../../../test/support/requirement.ts";
import { until } from "../../../../../test/support/until.ts";

describe("the HTTP transport of 2024-11-05", { timeout: 30_000 }, () => {
  it("answers on the stream of GET /sse what is posted to its endpoint", async () => {
    covers("mcp.http.sse-2024");
    await using server = await McpHttpServer.start();
    const accept = { accept: "text/event-stream" };
    const events = new EventReader(await server.fetch("GET", accept, undefined, "/sse"));
    const endpoint = await events.next();
    assert.equal(endpoint?.event, "endpoint");
    const post = async (body: unknown, path = endpoint.data): Promise<number> =>
      (await server.fetch("POST", { "content-type": "application/json" }, body, path)).status;
    assert.equal(await post(initialize("2024-11-05")), 202);
    assert.equal((await events.message()).result?.protocolVersion, "2024-11-05");
    const uri = "test://watched-resource";
    assert.equal(await post(request(1, "resources/subscribe", { uri })), 202);
    assert.equal((await events.message()).id, 1);
    server.offer.resources.updated(uri);
    assert.equal((await events.message()).method, "notifications/resources/updated");
    assert.equal(await post("{oops"), 400);
    assert.equal(await post(request(2, "ping"), "/messages?sessionId=made-up"), 404);
    await events.cancel();
    await until(() => server.http.size === 0);
    assert.equal(await post(request(3, "ping")), 404);
  });

  it("requires a client that accepts events", async () => {
    await using server = await McpHttpServer.start();
    const refused = await server.fetch("GET", { accept: "text/html" }, undefined, "/sse");
    assert.equal(refused.status, 406);
  });
});
