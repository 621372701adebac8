import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { listModels, windowOf } from "./models.ts";
import type { Provider, ProviderType } from "./provider.ts";

/** What a provider of that type is taken to offer when its server answers so. */
async function listed(type: ProviderType, body: unknown, more: Partial<Provider> = {}) {
  let asked = "";
  const server = createServer((request, response) => {
    asked = request.url ?? "";
    response.end(typeof body === "string" ? body : JSON.stringify(body));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const baseUrl = `http://127.0.0.1:${port}/v1/`;
  try {
    const provider = { id: "p", name: "P", type, baseUrl, ...more };
    const models = await listModels(provider, AbortSignal.timeout(600_000));
    return { models, asked };
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

describe("listModels()", () => {
  it("leaves out models of OpenAI and Google that are not for chat, and none of other providers", async () => {
    const data = ["gpt-5", "text-embedding-3", "whisper-1", "gpt-image-1"].map((id) => ({ id }));
    const names = async (type: ProviderType) =>
      (await listed(type, { data })).models.map(({ model }) => model);
    assert.deepEqual(await names("openai"), ["gpt-5"]);
    assert.equal((await names("openai-compatible")).length, 4);
  });

  it("reads Google's names, and leaves out models that generate no content", async () => {
    const { models, asked } = await listed("google", {
      models: [
        {
          name: "models/gemini-2.5-pro",
          displayName: "Gemini 2.5 Pro",
          supportedGenerationMethods: ["generateContent"],
          inputTokenLimit: 1_048_576,
        },
        { name: "models/gemini-count", supportedGenerationMethods: ["countTokens"] },
      ],
    });
    assert.equal(asked, "/v1/models?pageSize=200");
    assert.deepEqual(models, [
      { model: "gemini-2.5-pro", name: "Gemini 2.5 Pro", contextWindow: 1_048_576 },
    ]);
  });

  it("takes the configured context window, then the reported one, then a guess", async () => {
    const data = [
      { id: "a", meta: { n_ctx_train: 8_192 } },
      { id: "b", context_length: 12 },
      { id: "claude-x", max_input_tokens: "many" },
    ];
    const windows = async (more: Partial<Provider>) =>
      (await listed("openai-compatible", { data }, more)).models.map((each) => each.contextWindow);
    assert.deepEqual(await windows({ isLocal: true }), [8_192, 32_000, 200_000]);
    assert.deepEqual(await windows({ contextWindow: 5_000 }), [5_000, 5_000, 5_000]);
  });

  it("skips invalid entries, and limits the number of models", async () => {
    const data = [
      null,
      7,
      { id: 3 },
      { id: "" },
      ...Array.from({ length: 600 }, () => ({ id: "m" })),
    ];
    const { models } = await listed("openai-compatible", { data });
    assert.equal(models.length, 500);
    assert.ok(models.every(({ model }) => model === "m"));
  });

  it("aborts a list that never ends", async () => {
    const body = `{"data":[${'{"id":"m"},'.repeat(500_000)}`;
    await assert.rejects(listed("openai-compatible", body), /its list of models has no end/);
  });
});

describe("windowOf()", () => {
  it("guesses by the model's name, whoever serves it, and is cautious with unknown models", () => {
    assert.equal(windowOf("claude-sonnet-4-5", false), 200_000);
    assert.equal(windowOf("openrouter/Anthropic/Claude-3", false), 200_000);
    assert.equal(windowOf("gpt-4.1-mini", false), 1_000_000);
    assert.equal(windowOf("o3-mini", false), 200_000);
    assert.equal(windowOf("olmo", false), 128_000);
    assert.equal(windowOf("olmo", true), 32_000);
  });
});
