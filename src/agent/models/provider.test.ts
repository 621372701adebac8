import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { keyVariables, providersOf } from "./provider.ts";

describe("providersOf()", () => {
  it("includes local servers, unless one of them is configured already", () => {
    const found = providersOf(() => undefined, {
      providers: { mine: { baseUrl: "http://localhost:11434/v1/" } },
    });
    assert.deepEqual(
      found.map(({ id }) => id),
      ["mine", "lmstudio", "llamacpp"],
    );
  });

  it("uses OpenAI's own API for OpenAI, and the compatible one for other addresses", () => {
    const types = (env: Record<string, string>): string[] =>
      providersOf((name) => env[name], { local: false }).map(({ type }) => type);
    assert.deepEqual(types({ OPENAI_API_KEY: "k" }), ["openai"]);
    assert.deepEqual(types({ OPENAI_BASE_URL: "http://x/v1" }), ["openai-compatible"]);
    assert.deepEqual(types({ OPENAI_API_KEY: "k", OPENAI_BASE_URL: "https://api.openai.com/v1" }), [
      "openai",
    ]);
    assert.deepEqual(types({ GOOGLE_GENERATIVE_AI_API_KEY: "k" }), ["google"]);
  });
});

describe("providersOf() with a configuration", () => {
  it("lets a configured provider replace one of the same id, with the key of its own variable", () => {
    const env: Record<string, string> = { OPENAI_API_KEY: "k1", WORK_KEY: "k2" };
    const [openai, ...others] = providersOf((name) => env[name], {
      local: false,
      providers: { openai: { type: "openai", keyVariable: "WORK_KEY", contextWindow: 9_000 } },
    });
    assert.deepEqual(others, []);
    assert.deepEqual(
      [openai?.key, openai?.contextWindow, openai?.baseUrl],
      ["k2", 9_000, "https://api.openai.com/v1"],
    );
  });

  it("uses the usual variable of a type if none is named, and none for a type without one", () => {
    const asked: string[] = [];
    providersOf(
      (name) => {
        asked.push(name);
        return undefined;
      },
      { local: false, providers: { a: { type: "google" }, b: {} } },
    );
    assert.equal(asked.filter((name) => name === "GOOGLE_GENERATIVE_AI_API_KEY").length, 2);
    assert.ok(!asked.includes("undefined"));
  });
});

describe("keyVariables()", () => {
  it("lists each variable once, including those of the configuration", () => {
    const providers = { a: { keyVariable: "MY_KEY" }, b: { keyVariable: "MY_KEY" }, c: {} };
    assert.deepEqual(keyVariables({ providers }), [
      "ANTHROPIC_API_KEY",
      "OPENAI_API_KEY",
      "GOOGLE_GENERATIVE_AI_API_KEY",
      "MY_KEY",
    ]);
  });
});
