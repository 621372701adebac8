import assert from "node:assert/strict";
import { once } from "node:events";
import {
  type ClientRequest,
  createServer,
  type IncomingMessage,
  request as httpRequest,
  type RequestListener,
} from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { RecordingSink } from "../../../test/support/recording-sink.ts";
import type { Channel } from "../channel.ts";
import { httpCall, httpExchange, type HttpExchangeOptions } from "./http.ts";

/** A server on a port of its own; disposing ends every connection it has. */
async function serve(listener: RequestListener) {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    url: new URL(`http://127.0.0.1:${port}/`),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** A server of exchanges, and a raw client. */
async function exchanges(options: HttpExchangeOptions, type = "application/json") {
  const accepted: PromiseWithResolvers<{ channel: Channel<string>; sink: RecordingSink }> =
    Promise.withResolvers();
  const server = await serve((request, response) => {
    const channel = httpExchange(request, response, options);
    const sink = new RecordingSink();
    channel.receive(sink);
    accepted.resolve({ channel, sink });
  });
  const client = httpRequest(server.url, { method: "POST", headers: { "content-type": type } });
  client.on("error", () => {});
  return { ...server, client, accepted: accepted.promise };
}

async function answerTo(client: ClientRequest): Promise<IncomingMessage & { body: string }> {
  const [response] = (await once(client, "response")) as [IncomingMessage];
  let body = "";
  for await (const chunk of response.setEncoding("utf8")) body += String(chunk);
  return Object.assign(response, { body });
}

describe("httpExchange", { timeout: 20_000 }, () => {
  it("answers 202 without a body where nothing is sent back", async () => {
    await using talk = await exchanges({ reply: "json" });
    talk.client.end('{"a":\n1}\n');
    const { channel, sink } = await talk.accepted;
    await sink.until(({ ends }) => ends.length > 0);
    assert.deepEqual(sink.messages, ['{"a":\n1}\n']);
    const answered = answerTo(talk.client);
    await channel[Symbol.asyncDispose]();
    const { statusCode, headers, body } = await answered;
    assert.deepEqual([statusCode, headers["content-type"], body], [202, undefined, ""]);
  });

  it("answers with one JSON text", async () => {
    await using talk = await exchanges({ reply: "json" });
    talk.client.end("{}");
    const { channel } = await talk.accepted;
    const answered = answerTo(talk.client);
    void channel.send('{"result":"é"}');
    void channel.send("a second one has no place");
    await channel[Symbol.asyncDispose]();
    const { statusCode, headers, body } = await answered;
    assert.deepEqual([statusCode, headers["content-type"]], [200, "application/json"]);
    assert.equal(body, '{"result":"é"}');
  });

  it("answers with events as they come", async () => {
    await using talk = await exchanges({ reply: "events" });
    talk.client.end("{}");
    const { channel } = await talk.accepted;
    // The headers come before anything is sent.
    const [response] = (await once(talk.client, "response")) as [IncomingMessage];
    assert.equal(response.headers["content-type"], "text/event-stream");
    void channel.send("first");
    const chunks = response.setEncoding("utf8")[Symbol.asyncIterator]();
    assert.deepEqual(await chunks.next(), { done: false, value: "data: first\n\n" });
    void channel.send("second");
    await channel[Symbol.asyncDispose]();
    assert.deepEqual(await chunks.next(), { done: false, value: "data: second\n\n" });
    assert.equal((await chunks.next()).done, true);
  });

  it("reads a message a line where the request's type says so", async () => {
    await using talk = await exchanges({ reply: "json" }, "Application/X-NDJSON; charset=utf-8");
    talk.client.write("1\n2");
    const { sink } = await talk.accepted;
    await sink.until(({ messages }) => messages.length === 1);
    talk.client.end("2\n\n");
    await sink.until(({ ends }) => ends.length > 0);
    assert.deepEqual(sink.messages, ["1", "22"]);
  });

  it("reports a body over the limit, and can still answer", async () => {
    await using talk = await exchanges({ reply: "json", limits: { maxMessage: 10 } });
    talk.client.end("x".repeat(11));
    const { channel, sink } = await talk.accepted;
    await sink.until(({ faults }) => faults.length === 1);
    const answered = answerTo(talk.client);
    void channel.send("too large");
    await channel[Symbol.asyncDispose]();
    assert.equal((await answered).body, "too large");
  });

  it("tells the sink when the client goes away in the middle of the answer", async () => {
    await using talk = await exchanges({ reply: "events", limits: { closeGrace: 60_000 } });
    talk.client.end("{}");
    const { channel, sink } = await talk.accepted;
    void channel.send("first");
    const [response] = (await once(talk.client, "response")) as [IncomingMessage];
    await once(response, "data");
    assert.equal(sink.ends.length, 1);
    assert.equal(sink.ends[0], undefined, "the request itself has ended in order");
    response.on("error", () => {});
    talk.client.destroy();
    await sink.until(({ ends }) => ends.length > 1);
    assert.ok(sink.ends[1] instanceof Error);
    await channel.send("to nobody");
    await channel[Symbol.asyncDispose]();
  });

  it("tells the sink when the client goes away in the middle of the request", async () => {
    await using talk = await exchanges({ reply: "json" });
    talk.client.write('{"half":');
    const { sink } = await talk.accepted;
    talk.client.destroy();
    await sink.until(({ ends }) => ends.length > 0);
    assert.ok(sink.ends[0] instanceof Error);
    assert.deepEqual(sink.messages, []);
  });
});

describe("httpCall", { timeout: 20_000 }, () => {
  it("reads the answer as its type says", async () => {
    const answers: Record<string, [status: number, type: string, body: string, found: string[]]> = {
      json: [200, "application/json; charset=utf-8", '{\n"a":1}', ['{\n"a":1}']],
      events: [200, "Text/Event-Stream", ": hi\n\ndata: 1\n\ndata: 2\n\ndata: half", ["1", "2"]],
      accepted: [202, "text/plain", "", []],
    };
    for (const [status, type, body, found] of Object.values(answers)) {
      await using server = await serve((request, response) => {
        request.resume();
        response.writeHead(status, { "content-type": type }).end(body);
      });
      const channel = httpCall(server.url);
      const sink = new RecordingSink();
      channel.receive(sink);
      await sink.until(({ ends }) => ends.length > 0);
      assert.deepEqual(sink.messages, found);
      assert.equal(sink.ends[0], undefined);
      await channel[Symbol.asyncDispose]();
    }
  });

  it("ends with an error where the server does not answer with a success", async () => {
    for (const status of [302, 404, 500]) {
      await using server = await serve((_, response) => response.writeHead(status).end("no"));
      const sink = new RecordingSink();
      httpCall(server.url).receive(sink);
      await sink.until(({ ends }) => ends.length > 0);
      assert.match(String(sink.ends[0]), new RegExp(`answered ${status}`));
    }
  });

  it("ends with an error where the answer is cut off, or nobody listens", async () => {
    await using server = await serve((_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: 1\n\ndata: 2", () => response.destroy());
    });
    const sink = new RecordingSink();
    httpCall(server.url).receive(sink);
    await sink.until(({ ends }) => ends.length > 0);
    assert.deepEqual(sink.messages, ["1"]);
    assert.ok(sink.ends[0] instanceof Error);

    const gone = await serve(() => {});
    await gone[Symbol.asyncDispose]();
    const refused = new RecordingSink();
    httpCall(gone.url).receive(refused);
    await refused.until(({ ends }) => ends.length > 0);
    assert.match(String(refused.ends[0]), /ECONNREFUSED/);
  });

  it("sends each message while the request is open", async () => {
    const lines: string[] = [];
    const twice = Promise.withResolvers<void>();
    await using server = await serve((request, response) => {
      request.setEncoding("utf8").on("data", (text: string) => {
        lines.push(text);
        if (lines.length === 1) response.writeHead(200, { "content-type": "text/event-stream" });
        response.write(`data: ${text}\n`);
        if (lines.length === 2) twice.resolve();
      });
    });
    const channel = httpCall(server.url);
    const sink = new RecordingSink();
    channel.receive(sink);
    void channel.send("one");
    await sink.until(({ messages }) => messages.length === 1);
    void channel.send("two");
    await twice.promise;
    assert.deepEqual(lines, ["one\n", "two\n"]);
    channel.abort(new Error("enough"));
  });
});
