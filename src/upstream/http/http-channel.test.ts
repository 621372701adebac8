import { connectClient } from "../../../test/upstream/connect-client.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { covers } from "../../../test/support/requirement.ts";
import {
  answerOf,
  events,
  type Exchange,
  HttpServer,
  json,
  legacy,
} from "../../../test/upstream/http-server.ts";
import type { Json } from "../../../test/upstream/raw-client.ts";
import { SampleContext } from "../../../test/upstream/sample-context.ts";
import { HttpChannel, streamStatus, StreamRetryDelay, waitBefore } from "./http-channel.ts";
import { until } from "../../../test/support/until.ts";
import type { McpClient } from "../../protocol/mcp/connect/connect.ts";
import { encodeSse } from "../../wire/framing/sse.ts";

describe("waitBefore()", () => {
  const waits = (asked?: number): number[] =>
    [1, 2, 3, 20].map((attempt) => waitBefore(attempt, asked));

  it("is longer each time that nothing came, up to half a minute", () => {
    assert.deepEqual(waits(), [500, 1_000, 2_000, 30_000]);
  });

  it("is what the server wants at least", () => {
    assert.deepEqual(waits(200), [200, 400, 800, 30_000]);
    assert.deepEqual(waits(600_000), [600_000, 600_000, 600_000, 600_000]);
  });

  it("is never nothing, whatever the server wants", () => {
    assert.deepEqual(waits(0), [100, 200, 400, 30_000]);
  });
});

describe("StreamWaits", () => {
  it("grow while the stream fails at once, and begin anew after it was open for long or brought something", () => {
    let now = 0;
    const waits = new StreamRetryDelay(() => now);
    const after = (milliseconds: number): number => {
      waits.opened();
      now += milliseconds;
      return waits.ended(undefined);
    };
    assert.deepEqual([after(5), after(5), after(5)], [500, 1_000, 2_000]);
    assert.deepEqual([after(60_000), after(60_000)], [500, 500]);
    assert.deepEqual([after(5), after(5)], [1_000, 2_000]);
    waits.came();
    assert.equal(after(5), 500);
  });
});

describe("streamStatus()", () => {
  for (const [status, type, expected] of [
    [200, "text/event-stream; charset=utf-8", 200],
    [200, "text/html", 405],
    [204, undefined, 405],
    [503, "text/html", 503],
  ] as const) {
    it(`is ${expected} for an answer of ${status} with ${type ?? "nothing"}`, () => {
      const headers = type === undefined ? {} : { "content-type": type };
      assert.equal(streamStatus({ statusCode: status, headers }), expected);
    });
  }
});

const M = "io.modelcontextprotocol/";

async function connect(server: HttpServer): Promise<McpClient & AsyncDisposable> {
  const channel = new HttpChannel(server.url, { headers: { authorization: "Bearer t" } });
  const client = await connectClient(channel, {
    originOf: (id) => channel.originOf(id),
    canCall: (tool) => channel.canCall(tool),
  });
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}

describe("HttpChannel to a server of 2025-11-25", { timeout: 600_000 }, () => {
  it("sends the session, the revision and the configured headers, and ends the session", async () => {
    covers(
      "mcp.http-client.session",
      "mcp.http-client.session-delete",
      "mcp.http-client.version-header",
    );
    await using server = await HttpServer.open(
      legacy((exchange) => json(exchange, { content: [] })),
    );
    {
      await using client = await connect(server);
      assert.equal(client.revision, "2025-11-25");
      await client.callTool("t", {}, new SampleContext());
    }
    const [call] = server.of("tools/call");
    assert.equal(call?.headers["mcp-session-id"], "s1");
    assert.equal(call?.headers["mcp-protocol-version"], "2025-11-25");
    assert.equal(call?.headers["authorization"], "Bearer t");
    assert.equal(call?.headers["mcp-method"], undefined);
    assert.deepEqual(server.exchanges.map(({ verb }) => verb).slice(-1), ["DELETE"]);
  });

  it("receives progress and questions on the stream of the call that they belong to", async () => {
    const held: Exchange[] = [];
    await using server = await HttpServer.open(
      legacy((exchange) => {
        const { progressToken } = exchange.message["params"]._meta as Json;
        const params = { progressToken, progress: 1 };
        const stream = events(exchange);
        const told = { jsonrpc: "2.0", method: "notifications/progress", params };
        stream.write(encodeSse(JSON.stringify(told)));
        held.push(exchange);
        if (held.length < 2) return;
        // Both calls are open: only the stream says whom the question is for.
        const [, second] = held;
        const asked = { jsonrpc: "2.0", id: "q", method: "roots/list", params: {} };
        second?.response.write(encodeSse(JSON.stringify(asked)));
        for (const each of held) each.response.end(encodeSse(answerOf(each, { content: [] })));
      }),
    );
    await using client = await connect(server);
    const answers = { "roots/list": () => ({ roots: [] }) };
    const first = new SampleContext({ name: "a", answers });
    const second = new SampleContext({ name: "b", answers });
    const calls = [client.callTool("t", {}, first)];
    await until(() => held.length > 0);
    calls.push(client.callTool("t", {}, second));
    await Promise.all(calls);
    assert.deepEqual([first.asked.length, second.asked.length], [0, 1]);
    assert.deepEqual([first.progressed.length, second.progressed.length], [1, 1]);
    const answered = () => server.exchanges.find(({ message }) => message["id"] === "q");
    await until(() => answered() !== undefined);
    assert.deepEqual(answered()?.message["result"], { roots: [] });
  });

  it("resumes an interrupted stream from the last event, after the requested wait", async () => {
    covers("mcp.http-client.retry", "mcp.http-client.resume");
    let call: Exchange | undefined;
    let cutAt = 0;
    let waited = 0;
    await using server = await HttpServer.open(
      legacy(
        (exchange) => {
          call = exchange;
          events(exchange).end("id: e7\nretry: 700\ndata: \n\n");
          cutAt = performance.now();
        },
        (exchange) => {
          if (exchange.headers["last-event-id"] === undefined) {
            exchange.response.writeHead(405).end();
          } else if (call !== undefined) {
            waited = performance.now() - cutAt;
            events(exchange).end(encodeSse(answerOf(call, { content: [], late: true })));
          }
        },
      ),
    );
    await using client = await connect(server);
    const result = await client.callTool("t", {}, new SampleContext());
    assert.equal(result.late, true);
    const resumed = server.exchanges.filter(({ headers }) => headers["last-event-id"] === "e7");
    assert.equal(resumed.length, 1);
    assert.ok(waited > 650, `waited only ${waited} ms`);
  });

  it("fails one call whose answer was interrupted without an event, and no other", async () => {
    await using server = await HttpServer.open(
      legacy((exchange) => {
        if (exchange.message["params"].name === "good") json(exchange, { content: [] });
        else events(exchange).end(": nothing\n\n");
      }),
    );
    await using client = await connect(server);
    const bad = client.callTool("bad", {}, new SampleContext());
    await assert.rejects(bad, /ended its answer to 'tools\/call' without having answered/);
    await client.callTool("good", {}, new SampleContext());
  });

  it("receives changes on its own stream, and opens it again when it ends", async () => {
    let streams = 0;
    let changes = 0;
    const twice = Promise.withResolvers<void>();
    const changed = { jsonrpc: "2.0", method: "notifications/tools/list_changed" };
    await using server = await HttpServer.open(
      legacy(
        () => {},
        (exchange) => {
          streams++;
          const id = `e${streams}`;
          const stream = events(exchange);
          stream.write(encodeSse(JSON.stringify(changed), { id }));
          if (streams === 1) stream.end();
        },
      ),
    );
    const channel = new HttpChannel(server.url, { headers: {} });
    const toolsChanged = (): void => {
      if (++changes === 2) twice.resolve();
    };
    const client = await connectClient(channel, { events: { toolsChanged } });
    await twice.promise;
    await client.close();
    const gets = server.exchanges.filter(({ verb }) => verb === "GET");
    assert.deepEqual(
      gets.map(({ headers }) => headers["last-event-id"]),
      [undefined, "e1"],
    );
  });

  it("does not take a page for people for a stream that it could go on with", async () => {
    const gets: (string | undefined)[] = [];
    await using server = await HttpServer.open(
      legacy(
        (exchange) => events(exchange).end("id: e1\nretry: 100\ndata: \n\n"),
        ({ response, headers }) => {
          gets.push(headers["last-event-id"] as string | undefined);
          response.writeHead(200, { "content-type": "text/html" }).end("<h1>MCP</h1>");
        },
      ),
    );
    await using client = await connect(server);
    const call = client.callTool("t", {}, new SampleContext());
    await assert.rejects(call, /cut its answer off/);
    assert.deepEqual(gets, [undefined, "e1"]);
  });

  it("remembers no request of the server that it has answered", async () => {
    const pings = 1_000;
    await using server = await HttpServer.open(
      legacy((exchange) => {
        const stream = events(exchange);
        for (let id = 0; id < pings; id++) {
          stream.write(encodeSse(JSON.stringify({ jsonrpc: "2.0", id, method: "ping" })));
        }
        stream.end(encodeSse(answerOf(exchange, { content: [] })));
      }),
    );
    const channel = new HttpChannel(server.url, { headers: {} });
    const client = await connectClient(channel);
    await client.callTool("t", {}, new SampleContext());
    const isAnswer = ({ message }: Exchange): boolean => message["result"] !== undefined;
    await until(() => server.exchanges.filter(isAnswer).length >= pings);
    assert.deepEqual(
      Array.from({ length: pings }, (_, id) => channel.originOf(String(id))).filter(Boolean),
      [],
    );
    await client.close();
  });

  it("calls nothing before the server can ask back on its own stream", async () => {
    const order: string[] = [];
    await using server = await HttpServer.open(
      legacy(
        (exchange) => {
          order.push("call");
          json(exchange, { content: [] });
        },
        (exchange) => {
          setTimeout(() => {
            order.push("stream");
            events(exchange).flushHeaders();
          }, 50);
        },
      ),
    );
    await using client = await connect(server);
    await client.callTool("t", {}, new SampleContext());
    assert.deepEqual(order, ["stream", "call"]);
  });

  it("repeats why the server refuses a call, unless it says it with a page", async () => {
    const bodies = ['{"detail":"Invalid API key"}', "<html>nginx</html>", ""];
    await using server = await HttpServer.open(
      legacy(({ response }) => response.writeHead(400).end(bodies.shift())),
    );
    await using client = await connect(server);
    const said = String.raw`"{\"detail\":\"Invalid API key\"}"`;
    for (const end of [`answered 400: ${said}`, "answered 400", "answered 400"]) {
      const call = client.callTool("t", {}, new SampleContext());
      await assert.rejects(call, { message: `${server.url.origin} ${end}` });
    }
  });

  it("ends when the server has forgotten the session", async () => {
    covers("mcp.http-client.session-lost");
    await using server = await HttpServer.open(
      legacy(({ response }) => response.writeHead(404).end()),
    );
    await using client = await connect(server);
    const call = client.callTool("t", {}, new SampleContext());
    await assert.rejects(call, { code: "closed" });
    await client.ended;
  });
});

describe("HttpChannel to a server of 2026-07-28", { timeout: 600_000 }, () => {
  const schema = {
    type: "object",
    properties: {
      region: { type: "string", "x-mcp-header": "Region" },
      deep: { type: "object", properties: { on: { type: "boolean", "x-mcp-header": "On" } } },
    },
  };

  function modern(call: (exchange: Exchange) => void) {
    return (exchange: Exchange): void => {
      switch (exchange.message["method"]) {
        case "server/discover":
          json(exchange, {
            resultType: "complete",
            supportedVersions: ["2026-07-28"],
            capabilities: { tools: {} },
          });
          break;
        case "tools/list":
          json(exchange, { tools: [{ name: "zürich", inputSchema: schema }] });
          break;
        case "tools/call":
          call(exchange);
          break;
        default:
          exchange.response.writeHead(404).end();
      }
    };
  }

  it("repeats in headers what the body says", async () => {
    covers("mcp.modern-http-client.headers", "mcp.modern-http-client.parameters");
    await using server = await HttpServer.open(
      modern((exchange) => json(exchange, { resultType: "complete", content: [] })),
    );
    await using client = await connect(server);
    assert.equal(client.revision, "2026-07-28");
    await client.listTools();
    await client.callTool("zürich", { region: "eu", deep: { on: true } }, new SampleContext());
    const [call] = server.of("tools/call");
    const { headers } = call ?? {};
    assert.equal(headers?.["mcp-protocol-version"], "2026-07-28");
    assert.equal(headers?.["mcp-method"], "tools/call");
    assert.equal(headers?.["mcp-name"], "=?base64?esO8cmljaA==?=");
    assert.equal(headers?.["mcp-param-region"], "eu");
    assert.equal(headers?.["mcp-param-on"], "true");
    assert.equal(headers?.["mcp-session-id"], undefined);
    assert.equal(call?.message["params"]._meta[`${M}protocolVersion`], "2026-07-28");
  });

  it("cancels a call by closing its exchange, and sends nothing more", async () => {
    covers("mcp.modern-http-client.cancel");
    const called = Promise.withResolvers<Exchange>();
    await using server = await HttpServer.open(
      modern((exchange) => {
        events(exchange).flushHeaders();
        called.resolve(exchange);
      }),
    );
    await using client = await connect(server);
    const context = new SampleContext();
    const call = client.callTool("t", {}, context);
    const exchange = await called.promise;
    context.abort.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
    await exchange.closed;
    assert.equal(server.of("notifications/cancelled").length, 0);
  });

  it("listens again after its stream was interrupted, and checks what it has missed", async () => {
    covers("mcp.subscriptions.client");
    const listens: Exchange[] = [];
    await using server = await HttpServer.open(modern(() => {}));
    server.answer = (exchange) => {
      if (exchange.message["method"] !== "subscriptions/listen") return false;
      listens.push(exchange);
      events(exchange).flushHeaders();
      if (listens.length === 1) exchange.response.socket?.destroy();
      return true;
    };
    const missed = Promise.withResolvers<void>();
    const client = await connectClient(new HttpChannel(server.url, { headers: {} }), {
      events: { toolsChanged: () => missed.resolve() },
    });
    await missed.promise;
    await until(() => listens.length >= 2);
    assert.equal(client.hasEnded, false);
    await client.close();
  });

  it("delivers an error that comes with an error status", async () => {
    const error = { code: -32021, message: "Missing", data: { requiredCapabilities: { x: {} } } };
    await using server = await HttpServer.open(
      modern(({ response, message }) => {
        response.writeHead(400, { "content-type": "application/json" });
        response.end(JSON.stringify({ jsonrpc: "2.0", id: message["id"], error }));
      }),
    );
    await using client = await connect(server);
    const call = client.callTool("t", {}, new SampleContext());
    await assert.rejects(call, { code: -32021, message: "Missing" });
  });
});

describe("HttpChannel to an unreachable server", () => {
  it("says that it could not be reached", async () => {
    const server = await HttpServer.open(() => {});
    const { url } = server;
    await server[Symbol.asyncDispose]();
    const channel = new HttpChannel(url, { headers: {} });
    await assert.rejects(connectClient(channel), { code: "closed" });
    assert.match(await channel.ended, /^could not be reached at http:.*ECONNREFUSED/);
  });
});
