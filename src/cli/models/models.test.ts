import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";

/** A provider like OpenAI with one model. */
async function provider() {
  const server = createServer((_, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"data":[{"id":"gpt-x","object":"model"}]}');
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("trunkline model list", () => {
  it("says how to get a model if there is none", async () => {
    await using line = await SampleCommandLine.create();
    const { code, out, err } = await line.run("model", "list");
    assert.equal(code, 0);
    assert.match(out, /^\* offline +\S/);
    assert.match(err, /^There is no language model\. Store a provider's key/);
  });

  it("marks the model that new sessions use", async () => {
    await using openai = await provider();
    const models = { default: "openai/gpt-x" };
    await using line = await SampleCommandLine.create({ models });
    Object.assign(line.env, { OPENAI_API_KEY: "sk-x", OPENAI_BASE_URL: openai.url });
    const { out, err } = await line.run("model", "list");
    assert.match(out, /^\* openai\/gpt-x +\S/m);
    assert.match(out, /^ {2}offline /m);
    assert.equal(err, "");
  });

  it("names a provider that does not answer, and never shows its key", async () => {
    await using line = await SampleCommandLine.create();
    const env = { OPENAI_API_KEY: "sk-secret", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
    Object.assign(line.env, env);
    const { code, out, err } = await line.run("model", "list");
    assert.equal(code, 0);
    assert.match(err, /^openai did not list its models: /);
    assert.doesNotMatch(out + err, /sk-secret/);
  });
});

describe("trunkline model add and remove", () => {
  it("write a provider without its key, and refuse a wrong one", async () => {
    await using line = await SampleCommandLine.create();
    const args = ["--type", "anthropic", "--key-variable", "P_KEY", "--model", "a", "--model", "b"];
    const url = ["--base-url", "https://llm.example.com"];
    const added = await line.run("model", "add", "proxy", ...args, ...url);
    assert.equal(added.code, 0, added.err);
    assert.deepEqual((await line.home.load()).config.models.providers, {
      proxy: {
        type: "anthropic",
        baseUrl: "https://llm.example.com",
        keyVariable: "P_KEY",
        models: ["a", "b"],
      },
    });
    const wrong = await line.run("model", "add", "x", "--base-url", "nowhere");
    assert.equal(wrong.code, 2);
    assert.match(wrong.err, /Cannot set 'models\.providers\.x': 'models\.providers\.x\.baseUrl' /);
    assert.equal((await line.run("model", "remove", "proxy")).code, 0);
    assert.deepEqual((await line.home.load()).config.models.providers, {});
  });
});
