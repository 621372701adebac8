import { Ajv2020 } from "ajv/dist/2020.js";
import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { configJsonSchema, PARTS } from "./schema.ts";
import { checkConfigFile } from "./schema.gen.ts";

const VALUES: readonly unknown[] = [
  {},
  { $schema: "x", serve: { port: 1 } },
  { serve: { port: -1 } },
  { data: "" },
  { mcpServers: { a: { command: "x", args: ["y"], env: { Z: "z" }, cwd: "." } } },
  { mcpServers: { a: { url: "https://example.com", headers: { A: "b" } } } },
  { mcpServers: { a: { url: "ftp://example.com" } } },
  { mcpServers: { a: { command: "x", url: "https://example.com" } } },
  { mcpServers: { a: {} } },
  { agents: { a: { command: "x", cwd: "/" } } },
  { limits: { messages: { "fs/*": { rate: { limit: 1, windowMs: 1 } } } } },
  { limits: { messages: { "fs/*": { rate: { limit: 1 } } } } },
  { policy: { tools: { default: "ask", rules: [{ tool: "*", decision: "deny" }], later: 1 } } },
  {
    policy: { tools: { rules: [{ tool: "*", arguments: { path: "/etc/*" }, decision: "deny" }] } },
  },
  { policy: { tools: { rules: [{ tool: "*", arguments: { path: 1 }, decision: "deny" }] } } },
  { policy: { tools: { rules: [{ tool: "*", argument: { path: "x" }, decision: "deny" }] } } },
  { policy: { tools: { approve: "always" } } },
  { policy: { tools: { approve: "never" } } },
  { policy: { tools: { default: "maybe" } } },
  { serve: { publicUrl: "https://a.example", allowedHosts: ["b.example"], allowedOrigins: [] } },
  { serve: { publicUrl: "a.example" } },
  { serve: { allowedHosts: ["b.example:80"] } },
  { serve: { allowedOrigins: ["*"] } },
  { serve: { tls: { certFile: "cert.pem" } } },
  { serve: { oauth: { authorizationServers: ["https://a.example"], scopes: ["a:b"] } } },
  { serve: { oauth: { authorizationServers: [] } } },
  { serve: { oauth: { authorizationServers: ["https://a.example"], scopes: ['"'] } } },
  { bus: { listen: "localhost:50100" } },
  { bus: { listen: "tls://[::1]:50100" } },
  { bus: { listen: "x" } },
  { models: { default: "offline" } },
  { models: { default: "ollama/library/qwen3:8b" } },
  { models: { default: "gpt-5" } },
  { identities: { a: { provider: "github", user: "ada", email: "ada@example.com" } } },
  { identities: { a: { provider: "github", user: "a\nb" } } },
  { unknown: 1 },
];

describe("the published schema", () => {
  const ajv = new Ajv2020({ formats: { uri: (text: string) => URL.canParse(text) } });
  const validate = ajv.compile(configJsonSchema());

  for (const value of VALUES) {
    it(`agrees with the check about ${JSON.stringify(value)}`, () => {
      assert.equal(validate(value), checkConfigFile(value) === undefined);
    });
  }

  it("has none of our own annotations", () => {
    assert.doesNotMatch(JSON.stringify(configJsonSchema()), /"x-(?:project|form)"/);
  });
});

describe("the settings of all capabilities", () => {
  it("have each key once", () => {
    const keys = PARTS.flatMap(({ settings }) => Object.keys(settings));
    assert.deepEqual([...new Set(keys)], keys);
  });
});
