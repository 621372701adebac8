import { connectClient } from "../../../test/upstream/connect-client.ts";
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { encodeSse } from "../../wire/framing/sse.ts";
import type { Json } from "../../../test/upstream/raw-client.ts";
import { ECHO, LEGACY, type Script } from "../../../test/upstream/scripted-server.ts";
import { SseChannel } from "./sse-channel.ts";
import { covers } from "../../../test/support/requirement.ts";

/** A server of 2024-11-05: answers come on the one stream. */
async function serve(endpoint: string, script: Script): Promise<{ url: URL } & AsyncDisposable> {
  let stream: ServerResponse | undefined;
  const listener: RequestListener = (request, response) => {
    if (request.method === "GET") {
      stream = response.writeHead(200, { "content-type": "text/event-stream" });
      stream.write(encodeSse(endpoint, { event: "endpoint" }));
      return;
    }
    void text(request).then((body) => {
      const { id, method, params } = JSON.parse(body) as Json;
      if (request.url !== "/post?s=1") return response.writeHead(404).end();
      response.writeHead(202).end();
      if (id === undefined) return undefined;
      const result = script[method as string]?.((params ?? {}) as Json, undefined as never);
      const error = { code: -32601, message: "Method not found" };
      const answer = { jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) };
      return stream?.write(encodeSse(JSON.stringify(answer), { event: "message" }));
    });
  };
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/sse`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const { "server/discover": _, ...SCRIPT } = LEGACY;

describe("SseChannel", { timeout: 600_000 }, () => {
  it("posts to the endpoint of the stream, and receives the answers on the stream", async () => {
    covers("mcp.http-client.sse-2024");
    await using server = await serve("/post?s=1", SCRIPT);
    const client = await connectClient(new SseChannel(server.url, { headers: {} }));
    assert.equal(client.revision, "2025-11-25");
    assert.deepEqual(await client.listTools(), [ECHO]);
    await client.close();
  });

  it("sends nothing to another server", async () => {
    await using server = await serve("http://example.com/post", SCRIPT);
    const channel = new SseChannel(server.url, { headers: { authorization: "secret" } });
    await assert.rejects(connectClient(channel), { code: "closed" });
    assert.match(await channel.ended, /another server, 'http:\/\/example\.com\/post'/);
  });

  it("fails a request that the server does not accept", async () => {
    await using server = await serve("/elsewhere", SCRIPT);
    const channel = new SseChannel(server.url, { headers: {} });
    await assert.rejects(connectClient(channel), /answered 404/);
  });
});
