import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { WebSocketServer } from "ws";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { attachTo } from "../../protocol/acp/attach.ts";
import { AppContext } from "../../config/app-context.ts";
import { OWNER } from "../../base/principal.ts";
import { MoveTokens } from "../../session/open/move/move-tokens.ts";
import { ownAcpChannel, reachGateway, remoteAcpChannel } from "./acp-channel.ts";

/** A server that refuses every WebSocket with a status. */
async function refusing(status: number): Promise<AsyncDisposable & { url: string }> {
  const server: Server = createServer().on("upgrade", (_, socket) => {
    socket.end(`HTTP/1.1 ${status} No\r\nconnection: close\r\n\r\n`);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}/acp`,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, "close");
    },
  };
}

describe("reachGateway()", () => {
  it("lets nobody through to a gateway who may do less than the owner", async () => {
    await using home = await SampleHome.create();
    await using gateway = await refusing(401);
    const env = { HOME: home.path, TRUNKLINE_TOKEN_STORE: "file" };
    await new MoveTokens(home.path, env).keep("s", "tlk_x");
    const at = { url: gateway.url, session: "s" };
    const token = { id: "token 1", scopes: ["sessions"] } as const;
    for (const principal of [
      { ...token, limits: { folders: ["/x"] } },
      { ...token, limits: { observe: true } },
    ]) {
      await assert.rejects(reachGateway(home.path, at, principal, env), /There is no token/);
    }
    await assert.rejects(reachGateway(home.path, at, OWNER, env), /It asks for a token/);
    const other = { ...at, session: "t" };
    await assert.rejects(reachGateway(home.path, other, OWNER, env), /There is no token/);
  });

  it("lets a hostile gateway neither read files, nor run commands, nor speak of other sessions", async () => {
    await using home = await SampleHome.create();
    const env = { HOME: home.path, TRUNKLINE_TOKEN_STORE: "file" };
    await new MoveTokens(home.path, env).keep("s", "tlk_x");
    const server = new WebSocketServer({ host: "127.0.0.1", port: 0 });
    await once(server, "listening");
    const answers: Record<string, unknown>[] = [];
    const about = (method: string, sessionId: string, id?: number): string =>
      JSON.stringify({ jsonrpc: "2.0", ...(id && { id }), method, params: { sessionId } });
    const asked = ["fs/read_text_file", "fs/write_text_file", "terminal/create", "mcp/message"];
    const said = [
      ...asked.map((method, at) => about(method, "s", at + 1)),
      about("session/update", "other"),
      about("session/request_permission", "other", 9),
      `[${about("fs/read_text_file", "s", 10)}]`,
      about("session/update", "s").replace("{", '{"method":"fs/read_text_file",'),
      about("session/request_permission", "s", 11),
    ];
    server.on("connection", (socket) => {
      socket.once("message", () => {
        socket.on("message", (data: Buffer) => answers.push(JSON.parse(data.toString("utf8"))));
        for (const text of said) socket.send(text);
      });
    });
    const { port } = server.address() as AddressInfo;
    const at = { url: `ws://127.0.0.1:${port}/acp`, session: "s" };
    const heard: Record<string, unknown>[] = [];
    await using channel = await reachGateway(home.path, at, OWNER, env);
    channel.receive({
      message: (text) => void heard.push(JSON.parse(text)),
      fault: () => assert.fail(),
      end: () => {},
    });
    void channel.send(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "initialize" }));
    while (answers.length < 5 || heard.length < 2) await delay(10);
    assert.deepEqual(
      heard.map(({ method, params }) => [method, params]),
      ["session/update", "session/request_permission"].map((method) => [
        method,
        { sessionId: "s" },
      ]),
    );
    assert.deepEqual(
      answers.map(({ id, error }) => [id, (error as { code: number }).code]),
      [1, 2, 3, 4, 9].map((id) => [id, -32601]),
    );
    for (const socket of server.clients) socket.terminate();
    server.close();
  });
});

describe("remoteAcpChannel()", { timeout: 600_000 }, () => {
  it("says to set a token if the gateway refuses the given one", async () => {
    for (const status of [401, 403]) {
      await using server = await refusing(status);
      await assert.rejects(remoteAcpChannel(server.url, "x"), {
        code: "unavailable",
        message: /^Cannot connect to 'ws:.*It asks for a token: set TRUNKLINE_TOKEN\.$/,
      });
    }
  });

  it("asks whether a gateway runs there, if nothing answers as one", async () => {
    await using server = await refusing(404);
    const gone = "ws://127.0.0.1:1/acp";
    for (const url of [server.url, gone]) {
      await assert.rejects(
        remoteAcpChannel(url, undefined),
        /Is `trunkline serve` running there\?$/,
      );
    }
  });
});

describe("ownAcpChannel()", { timeout: 600_000 }, () => {
  it("speaks ACP with the sessions of this process", async () => {
    await using home = await SampleHome.create();
    const { config } = await home.load();
    const app = new AppContext({
      ...config,
      log: { level: "error", verbose: false, requests: false },
    });
    await using opened = new AsyncDisposableStack();
    const channel = ownAcpChannel(app, opened);
    const wanted = { sessionId: "none", cwd: home.project };
    const attaching = attachTo(channel, wanted, {
      update: () => assert.fail(),
      permit: async () => undefined,
    });
    await assert.rejects(attaching, { code: "unavailable", message: /Session not found/ });
  });

  it("tells a person what failed, without the name of the code on the wire", async () => {
    await using home = await SampleHome.create();
    const { config } = await home.load();
    const app = new AppContext({
      ...config,
      log: { level: "error", verbose: false, requests: false },
    });
    await using opened = new AsyncDisposableStack();
    const handlers = { update: () => assert.fail(), permit: () => assert.fail() };
    const wanted = { cwd: home.project, agent: "none" };
    const attaching = attachTo(ownAcpChannel(app, opened), wanted, handlers);
    await assert.rejects(attaching, {
      message: "Cannot find agent 'none'. Configured: trunkline.",
    });
  });
});
