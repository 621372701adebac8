import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { keyText, type Values } from "../layer.ts";
import { pastedServers } from "./files.ts";

function pasted(server: Values): { server: unknown; warnings: string[] } {
  const warnings: string[] = [];
  const values = pastedServers({ mcpServers: { it: server } }, (path, says) => {
    warnings.push(`${keyText(path)} ${says}`);
  });
  return { server: (values.mcpServers as Values).it, warnings };
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
