import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { keyText, type ConfigValues } from "../layer.ts";
import { pastedServers } from "./files.ts";

function pasted(server: ConfigValues): { server: unknown; warnings: string[] } {
  const warnings: string[] = [];
  const values = pastedServers({ mcpServers: { it: server } }, (path, says) => {
    warnings.push(`${keyText(path)} ${says}`);
  });
  return { server: (values.mcpServers as ConfigValues).it, warnings };
}

describe("pastedServers()", () => {
  it("understands what other programs call the same", () => {
    const { server, warnings } = pasted({
      serverUrl: "https://a.example/mcp",
      type: "streamableHttp",
      alwaysAllow: ["read"],
      enabled: false,
    });
    assert.deepEqual(server, {
      url: "https://a.example/mcp",
      type: "streamable-http",
      autoApprove: ["read"],
      disabled: true,
    });
    assert.deepEqual(warnings, []);
  });

  it("reads the commands, variables and headers of Codex, goose, opencode and Continue", () => {
    const cases: readonly (readonly [ConfigValues, ConfigValues])[] = [
      [
        { cmd: "x", envs: { A: "1" }, env_keys: ["B"] },
        { command: "x", env: { A: "1", B: "${B}" } },
      ],
      [
        { command: ["x", "y"], environment: { A: "{env:B}" } },
        { command: "x", args: ["y"], env: { A: "${B}" } },
      ],
      [
        { command: "x", env_vars: ["A"] },
        { command: "x", env: { A: "${A}" } },
      ],
      [
        { uri: "https://a.example", bearer_token_env_var: "T", http_headers: { a: "b" } },
        { url: "https://a.example", headers: { a: "b", Authorization: "Bearer ${T}" } },
      ],
      [
        { url: "https://a.example", env_http_headers: { a: "A" } },
        { url: "https://a.example", headers: { a: "${A}" } },
      ],
      [
        { url: "https://a.example", requestOptions: { headers: { a: 1 } } },
        { url: "https://a.example", headers: { a: "1" } },
      ],
    ];
    for (const [given, wanted] of cases) {
      assert.deepEqual(pasted(given), { server: wanted, warnings: [] });
    }
  });

  it("takes numbers and booleans for the texts that they are passed on as", () => {
    const { server, warnings } = pasted({
      command: "x",
      args: ["--port", 8080],
      env: { DEBUG: true, LEVEL: 3, NONE: null },
    });
    assert.deepEqual(server, {
      command: "x",
      args: ["--port", "8080"],
      env: { DEBUG: "true", LEVEL: "3", NONE: null },
    });
    assert.deepEqual(warnings, []);
  });

  it("leaves an unknown key out, and says so", () => {
    const { server, warnings } = pasted({ command: "x", gallery: true });
    assert.deepEqual(server, { command: "x" });
    assert.deepEqual(warnings, ["mcpServers.it.gallery is ignored: it is not a known key"]);
  });

  for (const [key, own] of [
    ["includeTools", "include"],
    ["enabled_tools", "include"],
    ["enabledTools", "include"],
    ["available_tools", "include"],
    ["allowedTools", "include"],
    ["tools", "include"],
    ["excludeTools", "exclude"],
    ["disabledTools", "exclude"],
    ["disabled_tools", "exclude"],
  ] as const) {
    it(`keeps which tools are switched off with '${key}'`, () => {
      const { server, warnings } = pasted({ command: "x", [key]: ["read", "run(x)"] });
      assert.deepEqual(server, { command: "x", [own]: ["read", "run"] });
      assert.deepEqual(warnings, []);
    });
  }

  it("adds what is switched off in two ways, and keeps nothing of an empty list", () => {
    const two = pasted({ command: "x", exclude: ["a"], disabledTools: ["b"], excludeTools: ["c"] });
    assert.deepEqual(two.server, { command: "x", exclude: ["a", "b", "c"] });
    const none = pasted({ command: "x", disabledTools: [], available_tools: [] });
    assert.deepEqual(none.server, { command: "x" });
    assert.deepEqual(pasted({ command: "x", enabled_tools: [] }).server, {
      command: "x",
      include: [],
    });
  });

  it("leaves a server out whose filter cannot be kept, and says so", () => {
    for (const filter of [
      { disabledTools: "all" },
      { disabledTools: { write: true } },
      { disabled_prompts: ["x"] },
      { excludedResources: ["x"] },
      { tool_filter: "x" },
      { includeTools: ["a"], tools: ["b"] },
    ]) {
      const { server, warnings } = pasted({ command: "x", ...filter });
      assert.equal((server as ConfigValues).disabled, true, JSON.stringify(filter));
      assert.match(warnings.join(), /cannot be kept, so the server is left out/);
    }
    assert.deepEqual(pasted({ command: "x", disabled_prompts: [] }).server, { command: "x" });
  });

  it("reads references as other programs write them, and no part of a password", () => {
    const { server } = pasted({
      url: "https://a.example",
      headers: { Authorization: "Bearer $TOKEN", a: "{env:KEY}", b: "pa$WORD", c: "$ecret" },
    });
    assert.deepEqual((server as ConfigValues).headers, {
      Authorization: "Bearer ${TOKEN}",
      a: "${KEY}",
      b: "pa$WORD",
      c: "$ecret",
    });
  });

  it("keeps the client of a login as Cursor has it, and other time limits", () => {
    const auth = { CLIENT_ID: "me", CLIENT_SECRET: "${SECRET}", scopes: ["read"] };
    const { server, warnings } = pasted({ url: "https://a.example", auth, tool_timeout_sec: 90 });
    assert.deepEqual(server, {
      url: "https://a.example",
      oauth: { clientId: "me", clientSecret: "${SECRET}", scopes: ["read"] },
      timeout: 90,
    });
    assert.deepEqual(warnings, []);
    assert.deepEqual(pasted({ openapi: "a.json", auth: { key: "x" } }).server, {
      openapi: "a.json",
      auth: { key: "x" },
    });
  });

  it("takes our own name where both are there", () => {
    const { server, warnings } = pasted({
      url: "https://a.example",
      serverUrl: "https://b.example",
    });
    assert.deepEqual(server, { url: "https://a.example" });
    assert.deepEqual(warnings, ["mcpServers.it.serverUrl is ignored: 'url' is there, too"]);
  });

  it("leaves what is no server to the check", () => {
    assert.deepEqual(
      pastedServers({ mcpServers: [] }, () => assert.fail()),
      { mcpServers: [] },
    );
    assert.deepEqual(
      pastedServers({ mcpServers: { it: 1 } }, () => assert.fail()),
      {
        mcpServers: { it: 1 },
      },
    );
  });
});
