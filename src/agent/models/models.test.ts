import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { maskWhole } from "../../base/text/mask.ts";
import { Log } from "../../base/log.ts";
import { findModel, Models, OFFLINE } from "./models.ts";
import type { ModelSettings } from "../../config/schema/schema.gen.ts";

class ModelServer implements AsyncDisposable {
  readonly #server: Server;
  readonly requests: { url: string; headers: NodeJS.Dict<string | string[]> }[] = [];

  constructor(answer: RequestListener) {
    this.#server = createServer((request, response) => {
      this.requests.push({ url: request.url ?? "", headers: request.headers });
      answer(request, response);
    });
  }

  static async start(answer: RequestListener): Promise<ModelServer> {
    const server = new ModelServer(answer);
    server.#server.listen(0, "127.0.0.1");
    await once(server.#server, "listening");
    return server;
  }

  static listing(body: unknown): Promise<ModelServer> {
    return ModelServer.start((_, response) => response.end(JSON.stringify(body)));
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

const KEY = "key-of-mine-12345";

function models(
  env: Readonly<Record<string, string>>,
  settings: ModelSettings = {},
  log: string[] = [],
  timeout = 10_000,
): Models {
  return new Models({
    find: (name) => env[name],
    settings: { local: false, ...settings },
    log: new Log("debug", (line) => log.push(line)),
    timeout,
  });
}

const ids = (all: Models): string[] => all.list().map(({ id }) => id);

describe("Models", () => {
  it("offer only the offline entry if there is no key and no server", async () => {
    const none = models({});
    await none.refresh();
    assert.deepEqual(none.list(), [OFFLINE]);
    assert.equal(none.first(), OFFLINE);
  });

  it("list a provider's models, and send its key in a header and nowhere else", async () => {
    const data = [{ id: "small" }, { id: "large", context_length: 65_536 }];
    await using server = await ModelServer.listing({ data });
    const all = models({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.url });
    await all.refresh();
    assert.deepEqual(ids(all), ["openai/small", "openai/large", "offline"]);
    assert.equal(findModel(all, "openai/large").contextWindow, 65_536);
    assert.equal(server.requests[0]?.url, "/v1/models");
    assert.equal(server.requests[0]?.headers.authorization, `Bearer ${KEY}`);
    assert.equal(maskWhole(`is it ${KEY}?`), "is it •••?");
  });

  it("put suitable models first, with the names that Anthropic gives them", async () => {
    const data = [
      { id: "claude-old", display_name: "Claude Old" },
      { id: "claude-sonnet-4-5-20250929", display_name: "Claude Sonnet 4.5" },
    ];
    await using server = await ModelServer.listing({ data });
    const all = models({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url });
    await all.refresh();
    assert.equal(all.first().id, "anthropic/claude-sonnet-4-5-20250929");
    assert.equal(all.first().name, "Anthropic: Claude Sonnet 4.5");
    assert.equal(server.requests[0]?.headers["x-api-key"], KEY);
  });

  it("offer common models while a provider has not answered, and wait no longer than allowed", async () => {
    const log: string[] = [];
    await using server = await ModelServer.start(() => {});
    const all = models({ ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: server.url }, {}, log, 300);
    await all.refresh();
    assert.match(all.first().id, /^anthropic\/claude-/);
    assert.match(log.join(""), /agent.models-unknown/);
    assert.doesNotMatch(log.join(""), new RegExp(KEY));
  });

  it("do not send a key to the target of a redirection", async () => {
    await using elsewhere = await ModelServer.listing({ data: [{ id: "trap" }] });
    await using server = await ModelServer.start((_, response) => {
      response.writeHead(302, { location: `${elsewhere.url}/models` }).end();
    });
    const all = models({ OPENAI_API_KEY: KEY, OPENAI_BASE_URL: server.url });
    await all.refresh();
    assert.deepEqual(ids(all), ["offline"]);
    assert.equal(elsewhere.requests.length, 0);
  });

  for (const [what, body] of Object.entries({
    nonsense: "<html>",
    "no list": "{}",
    null: "null",
  })) {
    it(`skip a server that answers with ${what}`, async () => {
      await using server = await ModelServer.start((_, response) => response.end(body));
      const all = models({ OPENAI_BASE_URL: server.url });
      await all.refresh();
      assert.deepEqual(ids(all), ["offline"]);
    });
  }

  it("announce when the list has changed", async () => {
    await using server = await ModelServer.listing({ data: [{ id: "m" }] });
    const all = models({ OPENAI_BASE_URL: server.url });
    let count = 0;
    all.onChange(() => count++);
    await all.refresh();
    await all.refresh();
    await new Promise(setImmediate);
    assert.equal(count, 1);
    assert.equal(server.requests.length, 1, "it was asked lately");
  });

  it("begin with the configured default", async () => {
    await using server = await ModelServer.listing({ data: [{ id: "a" }, { id: "b" }] });
    const providers = { mine: { baseUrl: server.url, keyVariable: "MY_KEY", models: ["c"] } };
    const all = models({ MY_KEY: KEY }, { providers, default: "mine/c" });
    await all.refresh();
    assert.equal(all.first().id, "mine/c");
    assert.deepEqual(ids(all), ["mine/a", "mine/b", "mine/c", "offline"]);
  });

  it("begin with it even before its provider has answered", async () => {
    await using server = await ModelServer.start(() => {});
    const work = { baseUrl: server.url };
    const all = models({}, { providers: { work }, default: "work/a/b" });
    assert.equal(all.first().id, "work/a/b");
  });

  it("accept keys that are found later, and ask only their providers then", async () => {
    await using server = await ModelServer.listing({ data: [{ id: "m" }] });
    const work = { baseUrl: server.url, keyVariable: "WORK_KEY" };
    const asked: string[] = [];
    const all = new Models({
      find: (name) => (name === "GOOGLE_GENERATIVE_AI_API_KEY" ? "g" : undefined),
      findLater: async (names) => {
        asked.push(...names);
        return new Map([["WORK_KEY", KEY]]);
      },
      settings: { local: false, providers: { work, google: { ...work, type: "google" } } },
      log: new Log("error", () => {}),
    });
    await all.refresh();
    assert.deepEqual(asked, ["ANTHROPIC_API_KEY", "OPENAI_API_KEY", "WORK_KEY"]);
    assert.ok(server.requests.some(({ headers }) => headers.authorization === `Bearer ${KEY}`));
    assert.ok(ids(all).includes("work/m"));
    await all.refresh();
    assert.equal(asked.length, 3, "once");
  });

  it("list the available models if an unknown one is chosen", async () => {
    await using server = await ModelServer.listing({ data: [{ id: "small" }] });
    const all = models({ OPENAI_BASE_URL: server.url });
    await all.refresh();
    assert.throws(() => findModel(all, "openai/smal"), /Near: openai\/small/);
    assert.throws(() => findModel(all, "zzz"), /There are: openai\/small, offline/);
  });
});

describe("a model that is found on this machine", () => {
  it("is offered, but used only if somebody chooses it", async () => {
    await using server = await ModelServer.listing({ data: [{ id: "squatter" }] });
    const options = {
      find: () => undefined,
      log: new Log("error", () => {}),
      ports: [["ollama", "Ollama", Number(new URL(server.url).port)]] as const,
    };
    const all = new Models(options);
    await all.refresh();
    assert.deepEqual(ids(all), ["ollama/squatter", "offline"]);
    assert.equal(all.first(), OFFLINE);
    assert.equal(findModel(all, "ollama/squatter").isFound, true);
    const chosen = new Models({ ...options, settings: { default: "ollama/squatter" } });
    await chosen.refresh();
    assert.equal(chosen.first().id, "ollama/squatter");
    const other = new Models({ ...options, settings: { default: "ollama/gone" } });
    await other.refresh();
    assert.equal(other.first(), OFFLINE, "not another model of the same port");
  });

  it("can be the default if its address is configured", async () => {
    await using server = await ModelServer.listing({ data: [{ id: "mine" }] });
    const settings = { providers: { ollama: { baseUrl: server.url } } };
    const all = new Models({ find: () => undefined, settings, log: new Log("error", () => {}) });
    await all.refresh();
    assert.equal(all.first().id, "ollama/mine");
  });
});
