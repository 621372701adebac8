import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { McpHttpServer } from "../../../../../test/support/mcp-http-server.ts";
import { initialize, request } from "../../../../../test/support/mcp-session.ts";
import { covers } from "../../../../../test/support/requirement.ts";

describe("MCP on HTTP with authorization", { timeout: 30_000 }, () => {
  const resourceMetadata = { resource: "https://here.example/mcp", authorization_servers: [] };

  const start = () =>
    McpHttpServer.start({
      resourceMetadata,
      authorize: ({ headers: { authorization } }) =>
        authorization === undefined
          ? { status: 401, message: "Who are you?", headers: { "www-authenticate": "Bearer" } }
          : { principal: { id: authorization } },
    });

  it("refuses an unknown caller, and says where to sign in", async () => {
    covers("mcp.authorization.challenge", "mcp.authorization.metadata");
    await using server = await start();
    const refused = await server.post(initialize());
    assert.equal(refused.status, 401);
    assert.equal(refused.headers.get("www-authenticate"), "Bearer");
    for (const path of ["", "/mcp"]) {
      const told = await server.fetch(
        "GET",
        {},
        undefined,
        `/.well-known/oauth-protected-resource${path}`,
      );
      assert.deepEqual(await told.json(), resourceMetadata);
    }
  });

  it("reports that it cannot check a token", async () => {
    await using server = await McpHttpServer.start({
      authorize: () => Promise.reject(new Error("The directory is down")),
    });
    const refused = await server.post(initialize());
    assert.equal(refused.status, 503);
    assert.doesNotMatch(JSON.stringify(refused.body), /directory/);
  });

  it("keeps a session for the principal that began it", async () => {
    covers("mcp.http.session-owner");
    await using server = await start();
    const begun = await server.post(initialize(), { authorization: "a" });
    const headers = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const ping = request(1, "ping");
    assert.equal((await server.post(ping, { ...headers, authorization: "b" })).status, 404);
    assert.equal((await server.post(ping, { ...headers, authorization: "a" })).status, 200);
  });
});
