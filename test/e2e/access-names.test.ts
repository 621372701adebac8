import assert from "node:assert/strict";
import { once } from "node:events";
import { describe, it } from "node:test";
import { WebSocket } from "ws";

import { bearer, GuardedHome, INITIALIZE } from "../support/guarded-gateway.ts";

const OPEN = ["--host", "0.0.0.0"];

describe("trunkline serve and the host name of a request", { timeout: 600_000 }, () => {
  it("refuses other names and origins, whatever token comes with them", async () => {
    const serve = { allowedHosts: ["tools.lan"], allowedOrigins: ["https://app.example.com"] };
    using home = new GuardedHome({ serve });
    const known = bearer(
      await home.createToken("laptop", "--scope", "tools", "--scope", "dashboard"),
    );
    await using gateway = await home.serve(...OPEN);
    const statusOf = async (headers: object) =>
      (await gateway.get("/metrics", { ...known, ...headers })).status;
    assert.equal(await statusOf({ host: "tools.lan" }), 200);
    for (const host of ["evil.example", "tools.lan.evil.example", "[::1", "localhost@evil"]) {
      assert.equal(await statusOf({ host }), 403, host);
    }
    assert.equal(await statusOf({ origin: "https://app.example.com" }), 200);
    for (const origin of [
      "https://evil.example",
      "null",
      "http://localhost:5173",
      "https://app.example.com.evil",
    ]) {
      assert.equal(await statusOf({ origin }), 403, origin);
      const upgrade = new WebSocket(gateway.acp, { origin, headers: known });
      assert.match(String(await once(upgrade, "error")), /403/, origin);
    }
  });

  it("lets pages of configured origins read its answers, and no others", async () => {
    using home = new GuardedHome({ serve: { allowedOrigins: ["https://app.example.com"] } });
    const known = bearer(
      await home.createToken("laptop", "--scope", "tools", "--scope", "dashboard"),
    );
    await using gateway = await home.serve(...OPEN);
    const origin = "https://app.example.com";
    const asked = {
      "access-control-request-method": "POST",
      "access-control-request-headers":
        "authorization,content-type,mcp-protocol-version,Mcp-Param-Path,cookie,x-forwarded-for",
    };
    const may = await gateway.send("OPTIONS", "/mcp", { ...asked, origin });
    assert.equal(may.status, 204);
    assert.equal(may.headers["access-control-allow-origin"], origin);
    assert.equal(may.headers["access-control-allow-methods"], "GET, POST, DELETE");
    assert.equal(
      may.headers["access-control-allow-headers"],
      "authorization, content-type, mcp-protocol-version, mcp-param-path",
    );
    assert.equal(may.headers["access-control-allow-credentials"], undefined);
    assert.equal(may.headers.vary, "Origin");
    for (const foreign of ["https://evil.example", "null"]) {
      const mayNot = await gateway.send("OPTIONS", "/mcp", { ...asked, origin: foreign });
      assert.equal(mayNot.status, 403);
      assert.equal(mayNot.headers["access-control-allow-origin"], undefined);
    }
    for (const [headers, status] of [
      [{}, 401],
      [known, 200],
    ] as const) {
      const answer = await gateway.post(INITIALIZE, { ...headers, origin });
      assert.equal(answer.status, status);
      assert.equal(answer.headers["access-control-allow-origin"], origin);
      assert.match(
        answer.headers["access-control-expose-headers"] ?? "",
        /Mcp-Session-Id, MCP-Protocol-Version, WWW-Authenticate/,
      );
    }
    assert.equal((await gateway.get("/healthz")).headers["access-control-allow-origin"], undefined);
  });
});

describe("trunkline serve behind a public address", { timeout: 600_000 }, () => {
  it("accepts that name, and links to it", async () => {
    using home = new GuardedHome({ serve: { publicUrl: "https://tools.example.com" } });
    await using gateway = await home.serve();
    const host = "tools.example.com";
    assert.equal((await gateway.get("/metrics", { host })).status, 401);
    assert.equal((await gateway.get("/metrics", { host, ...gateway.owner })).status, 200);
    const overview = await gateway.get("/api/overview", { host, ...gateway.owner });
    assert.match(overview.body, /https:\/\/tools\.example\.com\/mcp/);
    assert.match(gateway.ready.login, /^https:\/\/tools\.example\.com\/login#/);
    const origin = "https://tools.example.com";
    assert.equal((await gateway.get("/metrics", { host, origin, ...gateway.owner })).status, 200);
  });
});
