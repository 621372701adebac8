import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { McpClient } from "../../protocol/mcp/connect/connect.ts";
import { HttpServer, json, legacy } from "../../../test/upstream/http-server.ts";
import { SampleContext } from "../../../test/upstream/sample-context.ts";
import {
  type AfterRefusal,
  CONFIGURED_AUTHORIZATION,
  type HttpAuthorization,
  type HttpRefusal,
} from "./http-authorization.ts";
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

  async refused(refusal: HttpRefusal): Promise<AfterRefusal> {
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
  const client = await McpClient.connect(channel, { era: "legacy" });
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
      /answered 401 to a token that is new/,
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
    await assert.rejects(call(server, broken), /was not asked: the keychain is locked/);
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
    const connecting = McpClient.connect(channel, { era: "legacy" });
    channel.abort(new Error("enough"));
    await assert.rejects(connecting, { code: "closed" });
    assert.equal(server.exchanges.length, 0);
  });
});
