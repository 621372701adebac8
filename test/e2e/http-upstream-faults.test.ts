import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Json } from "../support/acp-app.ts";
import { Program } from "../support/program.ts";
import { until } from "../support/until.ts";
import { type Exchange, HttpServer, json, legacy } from "../upstream/http-server.ts";

const HELLO = {
  protocolVersion: "2025-11-25",
  capabilities: {},
  clientInfo: { name: "test", version: "1" },
};
const DONE = { content: [{ type: "text", text: "done" }] };

describe("trunkline mcp with servers over HTTP", { timeout: 600_000 }, () => {
  it("fails only the call of a POST that is reset, and follows a redirection", async () => {
    const held: Exchange[] = [];
    const tools: Readonly<Record<string, (exchange: Exchange) => void>> = {
      slow: (exchange) => void held.push(exchange),
      reset: ({ response }) => void response.socket?.resetAndDestroy(),
      endless: ({ response }) => {
        response.writeHead(200, { "content-type": "application/json" });
        const chunk = " ".repeat(1024 * 1024);
        const more = (): void => {
          while (!response.destroyed && response.write(chunk)) continue;
        };
        response.on("drain", more);
        more();
      },
    };
    const answer = legacy((exchange) => tools[exchange.message["params"].name]?.(exchange));
    await using server = await HttpServer.open((exchange) => {
      if (exchange.message["method"] !== "tools/list") return answer(exchange);
      const definitions = Object.keys(tools).map((name) => ({ name, inputSchema: {} }));
      return json(exchange, { tools: definitions });
    });
    server.answer = ({ path, response }) => {
      if (path === "/new") return false;
      response.writeHead(307, { location: "/new" }).end();
      return true;
    };
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-http-"));
    const config = join(folder.path, "config.jsonc");
    const headers = { authorization: "Bearer secret" };
    await writeFile(config, JSON.stringify({ mcpServers: { web: { url: server.url, headers } } }));
    await using program = new Program(["mcp", "--config", config]);
    const send = (id: string, method: string, params: object): void =>
      program.write({ jsonrpc: "2.0", id, method, params });
    const isAnswerTo = (id: string) => (line: string) => JSON.parse(line).id === id;
    const answerTo = async (id: string): Promise<Json> => {
      await program.until(({ lines }) => lines.some(isAnswerTo(id)));
      return JSON.parse(program.lines.find(isAnswerTo(id)) ?? "").result;
    };
    send("hello", "initialize", HELLO);
    await answerTo("hello");
    for (const name of Object.keys(tools)) send(name, "tools/call", { name, arguments: {} });
    assert.match((await answerTo("reset")).content[0].text, /could not be reached/);
    assert.match((await answerTo("endless")).content[0].text, /more than 33554432 bytes/);
    await until(() => held.length > 0);
    assert.equal(held[0]?.path, "/new");
    assert.equal(held[0]?.headers.authorization, "Bearer secret");
    for (const exchange of held) json(exchange, DONE);
    assert.equal((await answerTo("slow")).content[0].text, "done");
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});
