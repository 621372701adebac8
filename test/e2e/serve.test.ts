import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request } from "node:http";
import { join } from "node:path";
import { describe, it } from "node:test";
import { WebSocket } from "ws";

import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";
import { covers } from "../support/requirement.ts";

/** A gateway on a free port, stopped as Ctrl-C stops it. */
class Gateway extends Program {
  ready!: ReturnType<typeof readyOf>;

  static async start(...args: string[]): Promise<Gateway> {
    const gateway = new Gateway(["serve", "--port", "0", "--json", ...args]);
    const [ready] = await gateway.answers(1);
    gateway.ready = readyOf(ready);
    return gateway;
  }

  post(body: unknown, headers: Record<string, string> = {}): Promise<Response> {
    const init = { "content-type": "application/json", ...headers };
    return this.fetch("/mcp", { method: "POST", headers: init, body: JSON.stringify(body) });
  }

  fetch(
    path: string,
    init: Omit<RequestInit, "headers"> & { readonly headers?: Record<string, string> } = {},
  ): Promise<Response> {
    const { url, headers } = this.ready;
    return fetch(`${url}${path}`, { ...init, headers: { ...headers, ...init.headers } });
  }

  override async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill("SIGINT");
    assert.equal(await this.exit, 0);
    await super[Symbol.asyncDispose]();
  }
}

describe("trunkline serve", { timeout: 600_000 }, () => {
  it("reports its addresses, and that it is healthy", async () => {
    await using gateway = await Gateway.start();
    assert.equal(gateway.ready.pid, gateway.child.pid);
    const health = (await (await fetch(`${gateway.ready.url}/healthz`)).json()) as {
      status: string;
    };
    assert.equal(health.status, "ok");
    const metrics = await (await gateway.fetch("/metrics")).text();
    assert.match(metrics, /trunkline_http_requests_total{route="\/healthz",status="200"} 1/);
    const overview = await (await gateway.fetch("/api/overview")).text();
    assert.ok(overview.includes(gateway.ready.mcp) && overview.includes(gateway.ready.acp));
  });

  it("answers MCP on /mcp, in a session", async () => {
    await using gateway = await Gateway.start();
    const params = { protocolVersion: "2025-11-25", capabilities: {} };
    const begun = await gateway.post({ jsonrpc: "2.0", id: 0, method: "initialize", params });
    assert.equal(begun.status, 200);
    const session = { "mcp-session-id": begun.headers.get("mcp-session-id") ?? "" };
    const silent = await gateway.post(
      { jsonrpc: "2.0", method: "notifications/initialized" },
      session,
    );
    assert.equal(silent.status, 202);
    assert.equal(await silent.text(), "");
    const answer = await gateway.post({ jsonrpc: "2.0", id: 1, method: "ping" }, session);
    assert.equal(answer.status, 200);
    assert.deepEqual(await answer.json(), { jsonrpc: "2.0", id: 1, result: {} });
    const metrics = await (await gateway.fetch("/metrics")).text();
    assert.match(metrics, /trunkline_connections_open{door="mcp"} 1/);
    const bad = await gateway.fetch("/mcp", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: "{oops",
    });
    assert.equal(bad.status, 400);
    assert.equal(((await bad.json()) as { error: { code: number } }).error.code, -32700);
  });

  it("answers ACP on /acp, one message for each text frame", async () => {
    await using gateway = await Gateway.start();
    const socket = new WebSocket(gateway.ready.acp, { headers: gateway.ready.headers });
    await once(socket, "open");
    socket.send(
      JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method: "initialize",
        params: { protocolVersion: 1 },
      }),
    );
    const [data] = (await once(socket, "message")) as [Buffer];
    const answer = JSON.parse(data.toString()) as {
      id: number;
      result: { protocolVersion: number };
    };
    assert.equal(answer.result.protocolVersion, 1);
    socket.close();
    await once(socket, "close");
  });

  it("closes open connections when it is stopped", async () => {
    await using gateway = await Gateway.start();
    const socket = new WebSocket(gateway.ready.acp, { headers: gateway.ready.headers });
    await once(socket, "open");
    gateway.child.kill("SIGTERM");
    const [code] = (await once(socket, "close")) as [number];
    assert.equal(code, 1000);
    assert.equal(await gateway.exit, 0);
  });

  it("refuses other names, other origins, other paths, methods and types", async () => {
    covers("mcp.http.origin");
    await using gateway = await Gateway.start();
    const { url, mcp, acp } = gateway.ready;
    assert.equal(await statusOf(`${url}/healthz`, { host: "evil.example" }), 403);
    assert.equal(await statusOf(`${url}/healthz`, { origin: "https://evil.example" }), 403);
    assert.equal(await statusOf(`${url}/healthz`, { origin: "http://localhost:5173" }), 403);
    assert.equal(await statusOf(`${url}/healthz`, { origin: url }), 200);
    assert.equal((await gateway.fetch("/nope")).status, 404);
    assert.equal(await statusOf(mcp, { host: "evil.example" }), 403);
    assert.equal(await statusOf(mcp, { origin: "null" }), 403);
    const wrongMethod = await gateway.fetch("/mcp", { method: "PUT" });
    assert.equal(wrongMethod.status, 405);
    assert.equal(wrongMethod.headers.get("allow"), "POST, GET, DELETE");
    const wrongType = await gateway.fetch("/mcp", { method: "POST", body: "{}" });
    assert.equal(wrongType.status, 415);
    const noUpgrade = await gateway.fetch("/acp");
    assert.equal(noUpgrade.status, 426);
    const foreign = new WebSocket(acp, { origin: "https://evil.example" });
    const [error] = (await once(foreign, "error")) as [Error];
    assert.match(error.message, /403/);
  });

  it("loads no HTTP client with its server: importing node:http would, and takes 16 MB", () => {
    const dist = join(import.meta.dirname, "../../dist");
    // Packs of earlier builds stay for a while.
    const launcher = readFileSync(join(dist, "trunkline.js"), "utf8");
    const [pack = ""] = /code-\w+\.pack/.exec(launcher) ?? [];
    const code = readFileSync(join(dist, pack), "latin1");
    assert.match(code, /from "node:https"/);
    assert.doesNotMatch(code, /(?:from |import\()"node:http"/);
  });

  it("says what to do if its port is taken, or the address is not this machine's", async () => {
    covers("mcp.http.loopback");
    await using gateway = await Gateway.start();
    const port = new URL(gateway.ready.url).port;
    await using second = new Program(["serve", "--port", port]);
    assert.equal(await second.exit, 1);
    assert.match(
      second.stderr,
      /Cannot listen on 127\.0\.0\.1:\d+: another program listens there.*--port/,
    );
    await using elsewhere = new Program(["serve", "--host", "192.0.2.7", "--port", "0"]);
    assert.equal(await elsewhere.exit, 1);
    assert.match(elsewhere.stderr, /Cannot listen on 192\.0\.2\.7:0: this machine has no such/);
  });

  it("does not start if it cannot write to its data folder, and says where and why", async () => {
    for (const command of [["serve", "--port", "0"], ["orchestrator"]]) {
      await using program = new Program(command, {
        env: { HOME: "/dev/null", XDG_CACHE_HOME: "" },
      });
      assert.equal(await program.exit, 1);
      assert.match(
        program.stderr,
        /^trunkline: Cannot keep state in '\/dev\/null\/.+': not a directory.*\. Choose another with --data/,
      );
      assert.deepEqual(program.lines, []);
    }
  });

  it("tells a person what runs, where, and what to do next", async () => {
    await using program = new Program(["serve", "--port", "0"]);
    await program.until(({ lines }) => lines.some((line) => line.includes("Ctrl-C")));
    const text = program.lines.join("\n");
    assert.match(text, /Trunkline \d+\.\d+\.\d+ is running/);
    assert.match(text, /http:\/\/127\.0\.0\.1:\d+\/mcp/);
    assert.match(text, /ws:\/\/127\.0\.0\.1:\d+\/acp/);
    assert.ok(!text.includes("\x1b"), "colours without a terminal");
    program.child.kill("SIGINT");
    assert.equal(await program.exit, 0);
  });
});

/** fetch() keeps `host` and `origin` for itself. */
function statusOf(url: string, headers: Record<string, string>): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const call = request(url, { headers }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    call.on("error", reject).end();
  });
}
