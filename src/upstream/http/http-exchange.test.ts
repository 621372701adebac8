import { connectClient } from "../../../test/upstream/connect-client.ts";
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { AppWithUpstreams } from "../../../test/upstream/app-with-upstreams.ts";
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
import type { ToolResult } from "../../tool/tool.ts";
import { encodeSse } from "../../wire/framing/sse.ts";
import {
  type RefusalOutcome,
  CONFIGURED_AUTHORIZATION,
  type HttpAuthorization,
  type HttpRefusal,
  redirection,
} from "./http-exchange.ts";
import { HttpChannel } from "./http-channel.ts";

/** Tokens of which each refusal brings the next. */
class Tokens implements HttpAuthorization {
  readonly refusals: HttpRefusal[] = [];
  readonly #all: string[];

  constructor(...all: string[]) {
    this.#all = all;
  }

  token(): Promise<string | undefined> | string | undefined {
    // Both ways are used: with and without a promise.
    return this.refusals.length % 2 === 0 ? Promise.resolve(this.#all[0]) : this.#all[0];
  }

  async refused(refusal: HttpRefusal): Promise<RefusalOutcome> {
    this.refusals.push(refusal);
    this.#all.shift();
    const [token] = this.#all;
    return token === undefined ? { why: "wants a login" } : { token };
  }
}

/** A server that wants one token. */
async function guarded(good: string, status = 401): Promise<HttpServer> {
  const server = await HttpServer.open(legacy((exchange) => json(exchange, { content: [] })));
  server.answer = ({ headers, response }) => {
    if (headers.authorization === `Bearer ${good}`) return false;
    const challenge = 'Bearer error="insufficient_scope", scope="more"';
    response.writeHead(status, { "www-authenticate": challenge }).end("no");
    return true;
  };
  return server;
}

async function call(server: HttpServer, authorization: HttpAuthorization): Promise<void> {
  const channel = new HttpChannel(server.url, { headers: {}, authorization });
  const client = await connectClient(channel, { era: "legacy" });
  try {
    await client.callTool("t", {}, new SampleContext());
  } finally {
    await client.close();
  }
}

describe("HttpAuthorization", { timeout: 600_000 }, () => {
  it("is asked for another token when the server refuses one, which is sent at once", async () => {
    await using server = await guarded("second");
    const tokens = new Tokens("first", "second");
    await call(server, tokens);
    assert.deepEqual(
      tokens.refusals.map(({ status, token }) => [status, token]),
      [[401, "first"]],
    );
    const sent = server.exchanges.map(({ headers }) => headers.authorization);
    assert.equal(sent.filter((each) => each === "Bearer first").length, 1);
    assert.ok(sent.slice(1).every((each) => each === "Bearer second"));
  });

  it("does not go on with a server that refuses every token", async () => {
    await using server = await guarded("none");
    await assert.rejects(
      call(server, new Tokens("a", "b", "c", "d")),
      /answered 401 although the token is new/,
    );
    assert.equal(server.exchanges.length, 2);
  });

  it("fails with the words that it gives", async () => {
    for (const status of [401, 403]) {
      await using server = await guarded("none", status);
      await assert.rejects(
        call(server, new Tokens("a")),
        /http:\/\/127\.0\.0\.1:\d+ wants a login$/,
      );
      assert.equal(server.exchanges.length, 1);
    }
  });

  it("fails with the words of an error, and a request that was not sent ends", async () => {
    await using server = await guarded("none");
    const broken = {
      token: () => Promise.reject(new Error("the keychain is locked")),
      refused: () => assert.fail(),
    };
    await assert.rejects(call(server, broken), /was sent no request: the keychain is locked/);
    assert.equal(server.exchanges.length, 0);
  });

  it("says that a configured header is not accepted", async () => {
    await using server = await guarded("none");
    const why = /answered 401: it does not accept the 'Authorization' header that is configured/;
    await assert.rejects(call(server, CONFIGURED_AUTHORIZATION), why);
  });

  it("ends a request that waits for its token when the channel is closed", async () => {
    await using server = await guarded("none");
    const never = { token: () => new Promise<never>(() => {}), refused: () => assert.fail() };
    const channel = new HttpChannel(server.url, { headers: {}, authorization: never });
    const connecting = connectClient(channel, { era: "legacy" });
    channel.abort(new Error("enough"));
    await assert.rejects(connecting, { code: "closed" });
    assert.equal(server.exchanges.length, 0);
  });
});

const FROM = new URL("http://ann:pass@example.org:8080/mcp?key=1");

function answer(statusCode: number, location?: string, method = "POST"): URL | string | undefined {
  const headers = location === undefined ? {} : { location };
  return redirection(FROM, { statusCode, headers }, method);
}

describe("redirection()", () => {
  it("follows 307 and 308 at the same origin, with the configured credentials", () => {
    for (const status of [307, 308]) {
      const to = answer(status, "/other?key=2");
      assert.equal(String(to), "http://ann:pass@example.org:8080/other?key=2");
    }
    assert.equal(
      String(answer(307, "http://eve:x@example.org:8080/")),
      `${FROM.origin}/`.replace("//", "//ann:pass@"),
    );
  });

  it("follows any redirection of a GET, which stays a GET", () => {
    for (const status of [301, 302, 303, 307, 308]) {
      assert.ok(answer(status, "/other", "GET") instanceof URL, String(status));
    }
  });

  it("says why it does not follow", () => {
    assert.match(
      String(answer(302, "/other")),
      /answered 302 with .*\/other, which cannot be posted/,
    );
    assert.match(String(answer(307)), /answered 307 without saying where to/);
    assert.match(String(answer(307, "http://")), /answered 307 without saying where to/);
    for (const location of [
      "https://example.org:8080/mcp",
      "http://example.org/mcp",
      "//evil.example/mcp",
      "http://example.org.evil.example:8080/",
      "file:///etc/passwd",
    ]) {
      assert.match(String(answer(308, location)), /is another server/, location);
    }
  });

  it("shows no part of an address that may be a key", () => {
    const key = "0123456789abcdef";
    for (const location of [`/mcp/${key}/`, `//other.example/${key}`]) {
      assert.ok(!String(answer(301, location)).includes(key), location);
    }
    assert.match(String(answer(301, `/v1/${key}/mcp/`)), /:8080\/v1\/…\/mcp\/, which/);
  });

  it("ignores other answers", () => {
    for (const status of [200, 202, 300, 304, 404, 500]) {
      assert.equal(answer(status, "/other"), undefined);
    }
  });
});

const timeout = 30_000;
const DONE = { content: [{ type: "text", text: "done" }] };

/** What a server does with the calls of each of its tools; those that begin with "read" are harmless. */
type Tools = Readonly<Record<string, (exchange: Exchange) => void>>;

/** A server of 2025-11-25 with these tools, and a program that calls them. */
class Rig implements AsyncDisposable {
  readonly server: HttpServer;
  readonly app: AppWithUpstreams;

  private constructor(server: HttpServer, app: AppWithUpstreams) {
    this.server = server;
    this.app = app;
  }

  static async open(tools: Tools, limits: object = {}): Promise<Rig> {
    const answer = legacy((exchange) => tools[nameOf(exchange)]?.(exchange));
    const server = await HttpServer.open((exchange) => {
      if (exchange.message["method"] !== "tools/list") return answer(exchange);
      return json(exchange, { tools: Object.keys(tools).map(definition) });
    });
    // Else a call may go to a connection that is about to be closed, and it shows in no error.
    server.keepsAlive = false;
    const app = new AppWithUpstreams({ limits: { firstWait: 20, longestWait: 50, ...limits } });
    await app.configure({ web: { url: server.url.href } });
    return new Rig(server, app);
  }

  async call(name: string): Promise<string> {
    return textOf(await this.app.offer.tools.call(name, {}, new SampleContext()));
  }

  /** A call that is in flight, and how to have it answered. */
  async inFlight(name: string): Promise<{ answer: () => Promise<string> }> {
    const result = this.call(name);
    const isIt = (exchange: Exchange): boolean => nameOf(exchange) === name;
    while (!this.server.of("tools/call").some(isIt)) await moment();
    const exchange = this.server.of("tools/call").find(isIt);
    return {
      answer: () => {
        if (exchange !== undefined) json(exchange, DONE);
        return result;
      },
    };
  }

  calls(name: string): number {
    return this.server.of("tools/call").filter((each) => nameOf(each) === name).length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.app[Symbol.asyncDispose]();
    await this.server[Symbol.asyncDispose]();
  }
}

function definition(name: string): object {
  const annotations = { readOnlyHint: name.startsWith("read") };
  return { name, inputSchema: { type: "object" }, annotations };
}

function nameOf({ message }: Exchange): string {
  return String((message["params"] as Json | undefined)?.["name"]);
}

function textOf(result: ToolResult): string {
  return `${result.isError === true ? "ERROR " : ""}${String(result.content[0]?.text)}`;
}

function moment(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 2));
}

const wait = (): void => {};
const reset = ({ response }: Exchange): void => void response.socket?.resetAndDestroy();

describe("An HTTP upstream that resets one POST", { timeout }, () => {
  it("fails that call and no other, and is not called twice for it", async () => {
    await using rig = await Rig.open({ slow: wait, write: reset });
    const slow = await rig.inFlight("slow");
    const lost = await rig.call("write");
    assert.match(
      lost,
      /^ERROR MCP server 'web' could not be reached at http:\S+: .*(hang up|RESET)/,
    );
    assert.match(lost, /It is not known whether the call was carried out\.$/);
    assert.equal(rig.calls("write"), 1);
    assert.equal(await slow.answer(), "done");
    const [status] = rig.app.upstreams.status();
    assert.deepEqual([status?.state, status?.restarts], ["up", 0]);
  });

  it("is called once more for a harmless tool", async () => {
    let calls = 0;
    const once = (exchange: Exchange): void => (++calls === 1 ? reset : done)(exchange);
    const done = (exchange: Exchange): void => json(exchange, DONE);
    await using rig = await Rig.open({ slow: wait, read: once, readNever: reset });
    const slow = await rig.inFlight("slow");
    assert.equal(await rig.call("read"), "done");
    assert.match(await rig.call("readNever"), /^ERROR .*, 2 times\. It is not known/);
    assert.equal(rig.calls("readNever"), 2);
    assert.equal(await slow.answer(), "done");
  });

  it("is reported as not called if the call could not be sent, and other calls are not affected", async () => {
    await using rig = await Rig.open({ slow: wait, write: wait });
    const slow = await rig.inFlight("slow");
    rig.server.refuseConnections();
    const lost = await rig.call("write");
    assert.match(lost, /^ERROR MCP server 'web' could not be reached .*REFUSED.*, 3 times\./);
    assert.match(lost, /It was not called\.$/);
    assert.equal(await slow.answer(), "done");
  });

  it("is used again after it was away, and only one call fails", async () => {
    await using rig = await Rig.open({ write: (exchange) => json(exchange, DONE) });
    const { port } = rig.server.url;
    await rig.server[Symbol.asyncDispose]();
    const calling = rig.call("write");
    await using again = await HttpServer.open(
      legacy((exchange) => json(exchange, DONE)),
      Number(port),
    );
    assert.equal(await calling, "done");
    assert.equal(again.of("tools/call").length, 1);
  });
});

describe("An HTTP upstream that answers with invalid data", { timeout }, () => {
  const answers: Readonly<Record<string, readonly [(exchange: Exchange) => void, RegExp]>> = {
    html: [
      ({ response }) => {
        response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>Login");
      },
      /answered 'tools\/call' with something that is not an MCP message: "<!doctype html><p>Login"/,
    ],
    "an empty body": [
      ({ response }) => void response.writeHead(200).end(),
      /ended its answer to 'tools\/call' without having answered/,
    ],
    "the wrong id": [
      ({ response }) => {
        response.writeHead(200, { "content-type": "application/json" });
        response.end('{"jsonrpc":"2.0","id":99999,"result":{}}');
      },
      /ended its answer to 'tools\/call' without having answered/,
    ],
    "events that are none": [
      (exchange) => void events(exchange).end(encodeSse("{oops") + encodeSse("[1,")),
      /not an MCP message: "\{oops"/,
    ],
    "4 GB to come": [
      ({ response }) => {
        response.writeHead(200, { "content-length": 4 * 1024 ** 3 }).write("{");
      },
      /answered with more than 33554432 bytes/,
    ],
    "a body without end": [
      ({ response }) => {
        response.writeHead(200, { "content-type": "application/json" });
        const chunk = Buffer.alloc(1024 * 1024, " ");
        const more = (): void => {
          while (!response.destroyed && response.write(chunk)) continue;
        };
        response.on("drain", more);
        more();
      },
      /answered with more than 33554432 bytes/,
    ],
    "half a body": [
      ({ response }) => {
        response.writeHead(200, { "content-length": 1000 }).write("{", () => {
          response.socket?.destroy();
        });
      },
      /cut its answer off/,
    ],
    "too many headers": [
      ({ response }) => {
        response.socket?.end(`HTTP/1.1 200 OK\r\nx: ${"x".repeat(100_000)}\r\n\r\n`);
      },
      /could not be reached at .*Header overflow/i,
    ],
    "no HTTP at all": [
      ({ response }) => void response.socket?.end("220 mail.example.org ESMTP\r\n"),
      /could not be reached at .*Parse Error/,
    ],
  };
  for (const [what, [answer, expected]] of Object.entries(answers)) {
    it(`fails that call with a message, and no other: ${what}`, async () => {
      await using rig = await Rig.open({
        slow: wait,
        write: answer,
        good: (exchange) => json(exchange, DONE),
      });
      const slow = await rig.inFlight("slow");
      const text = await rig.call("write");
      assert.match(text, /^ERROR MCP server 'web' /);
      assert.match(text, expected);
      assert.equal(rig.calls("write"), 1);
      assert.equal(await rig.call("good"), "done");
      assert.equal(await slow.answer(), "done");
      assert.equal(rig.app.upstreams.status()[0]?.restarts, 0);
    });
  }

  it("cannot cause endless requests by asking without end", async () => {
    let most = 0;
    let open = 0;
    const held: Exchange[] = [];
    await using rig = await Rig.open({
      ask: (exchange) => {
        const stream = events(exchange);
        const ping = (id: number): string =>
          encodeSse(JSON.stringify({ jsonrpc: "2.0", id: `q${id}`, method: "ping" }));
        for (let id = 0; id < 500; id++) stream.write(ping(id));
        held.push(exchange);
      },
      good: (exchange) => json(exchange, DONE),
    });
    // Answers are taken, and not acknowledged for a while.
    rig.server.answer = (exchange) => {
      if (!String(exchange.message["id"]).startsWith("q")) return false;
      most = Math.max(most, ++open);
      setTimeout(() => {
        open--;
        exchange.response.writeHead(202).end();
      }, 5);
      return true;
    };
    const asked = rig.call("ask");
    const answered = (): number =>
      rig.server.exchanges.filter(({ message }) => String(message["id"]).startsWith("q")).length;
    while (answered() < 100) await moment();
    assert.equal(await rig.call("good"), "done");
    while (answered() < 500) await moment();
    assert.ok(most <= 16, `${most} at once`);
    for (const each of held) each.response.end(encodeSse(answerOf(each, DONE)));
    assert.equal(await asked, "done");
  });
});

describe("An HTTP upstream that redirects", { timeout }, () => {
  /** A server at another path of the same address. */
  const moved = (status: number): ((exchange: Exchange) => boolean) => {
    return ({ path, response }) => {
      if (path === "/new") return false;
      response.writeHead(status, { location: "/new" }).end("moved");
      return true;
    };
  };

  for (const status of [307, 308]) {
    it(`is followed at the same origin with everything that was sent (${status})`, async () => {
      await using server = await HttpServer.open(legacy((exchange) => json(exchange, DONE)));
      server.answer = moved(status);
      await using app = new AppWithUpstreams();
      const headers = { authorization: "Bearer secret" };
      await app.configure({ web: { url: server.url.href, headers } });
      const [up] = app.upstreams.status();
      assert.equal(up?.state, "up");
      const posted = server.of("initialize").filter(({ path }) => path === "/new");
      assert.equal(posted.length, 1);
      assert.equal(posted[0]?.verb, "POST");
      assert.equal(posted[0]?.message["params"].clientInfo.name, "trunkline");
      assert.equal(posted[0]?.headers.authorization, "Bearer secret");
    });
  }

  it("is not followed to another server, which gets nothing; the error names it", async () => {
    await using other = await HttpServer.open(legacy((exchange) => json(exchange, DONE)));
    await using server = await HttpServer.open(() => {});
    server.answer = ({ response }) => {
      response.writeHead(307, { location: other.url.href }).end();
      return true;
    };
    await using app = new AppWithUpstreams();
    const headers = { authorization: "Bearer secret" };
    await app.configure({ web: { url: server.url.href, headers } });
    const { lastError = "" } = app.upstreams.status()[0] ?? {};
    assert.match(lastError, /redirects to http:\S+\/mcp, which is another server: configure/);
    assert.deepEqual(other.exchanges, []);
  });

  it("is not followed in circles", async () => {
    await using server = await HttpServer.open(() => {});
    server.answer = ({ response }) => {
      response.writeHead(308, { location: "/mcp" }).end();
      return true;
    };
    await using app = new AppWithUpstreams();
    await app.configure({ web: { url: server.url.href } });
    assert.match(app.upstreams.status()[0]?.lastError ?? "", /redirects more than 5 times/);
    assert.ok(server.exchanges.length <= 12, `${server.exchanges.length} requests`);
  });
});
