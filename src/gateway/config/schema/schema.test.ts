import { Ajv2020 } from "ajv/dist/2020.js";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { defaultConfig } from "../config.ts";
import { parseFile } from "../file/parse-file.ts";
import { leaves, valueAt } from "../layer.ts";
import { configJsonSchema } from "./json-schema.ts";
import { configKeys, projectAccess } from "./keys.ts";
import { checkConfigFile } from "./schema.gen.ts";

const VALUES: readonly unknown[] = [
  {},
  { $schema: "x", server: { port: 1 } },
  { server: { port: -1 } },
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

describe("the schema", () => {
  it("tells the defaults that hold", () => {
    const held = defaultConfig("/data");
    for (const { path, fallback } of configKeys()) {
      const value = valueAt(held, path.split("."));
      if (path !== "data" && value !== undefined)
        assert.equal(JSON.stringify(value), fallback, path);
      else assert.equal(fallback, undefined, path);
    }
    const known = new Set(configKeys().map(({ path }) => path));
    for (const [path] of leaves(held))
      assert(known.has(path.join(".")), `${path.join(".")} is told`);
  });

  it("describes every key", () => {
    for (const { path, description } of configKeys()) assert.notEqual(description, "", path);
  });

  it("opens to a project that is not trusted what is harmless, and nothing else", () => {
    const open = configKeys().filter(({ path }) => projectAccess(path.split(".")) === "always");
    assert.deepEqual(
      open.map(({ path }) => path),
      ["log.level", "log.verbose"],
    );
    assert.equal(projectAccess(["data"]), "never");
    assert.equal(projectAccess(["constructor"]), "trusted");
  });
});

describe("the published schema", () => {
  const ajv = new Ajv2020({ formats: { uri: (text: string) => URL.canParse(text) } });
  const validate = ajv.compile(configJsonSchema());

  for (const value of VALUES) {
    it(`says what the check says of ${JSON.stringify(value)}`, () => {
      assert.equal(validate(value), checkConfigFile(value) === undefined);
    });
  }

  it("has none of our own annotations", () => {
    assert.doesNotMatch(JSON.stringify(configJsonSchema()), /"x-(?:project|form)"/);
  });
});

describe("docs/CONFIGURATION.md", () => {
  it("shows an example that is right", () => {
    const page = readFileSync(
      new URL("../../../../docs/CONFIGURATION.md", import.meta.url),
      "utf8",
    );
    const examples = [...page.matchAll(/```jsonc\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
    assert(examples.length > 0);
    for (const text of examples) {
      assert.equal(checkConfigFile(parseFile("example", text).value), undefined);
    }
  });
});
