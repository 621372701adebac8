import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { normaliseServers } from "./serve-sessions.ts";

const one = (server: object) => normaliseServers([{ name: "s", ...server }])[0];

describe("normaliseServers()", () => {
  it("treats a missing or empty list as no servers", () => {
    assert.deepEqual(normaliseServers(undefined), []);
    assert.deepEqual(normaliseServers(null), []);
  });

  it("converts the message specification's form to the current one", () => {
    const server = { type: "local", command: ["bun", "x", "weather"], environment: { A: "b" } };
    assert.deepEqual(one(server), {
      name: "s",
      command: "bun",
      args: ["x", "weather"],
      env: [{ name: "A", value: "b" }],
    });
  });

  it("keeps the current form, and fills in optional members", () => {
    assert.deepEqual(one({ command: "node" }), { name: "s", command: "node", args: [], env: [] });
    const env = [{ name: "A", value: "b" }];
    assert.deepEqual(one({ type: "stdio", command: "node", args: ["a"], env, _meta: { x: 1 } }), {
      name: "s",
      command: "node",
      args: ["a"],
      env,
      _meta: { x: 1 },
    });
  });

  it("accepts servers with a URL, under each name of their type", () => {
    const headers = { Authorization: "x" };
    const types = ["http", "sse", "remote"].map((type) => one({ type, url: "http://h", headers }));
    assert.deepEqual(
      types.map((server) => server?.type),
      ["http", "sse", "http"],
    );
    assert.deepEqual(types[0]?.headers, [{ name: "Authorization", value: "x" }]);
    assert.deepEqual(one({ type: "http", url: "http://h" })?.headers, []);
  });

  for (const [server, words] of [
    [{}, /mcpServers\[0\]\.command' must be a program/],
    [{ command: [] }, /command' must be a program/],
    [{ command: "" }, /command' must be a program/],
    [{ command: ["a", 7] }, /command' must be a program/],
    [{ command: "a", args: [7] }, /command' must be a program/],
    [{ type: "pigeon", command: "a" }, /type' must be one of: stdio, local, http, sse, acp/],
    [{ type: "acp" }, /serverId' must be a string/],
    [{ type: "http" }, /url' must be a string/],
    [{ command: "a", env: [{ name: "A" }] }, /env\[0\]' must have a name and a value/],
    [{ command: "a", env: { A: 7 } }, /env\[0\]' must have a name and a value/],
    [{ command: "a", env: [null] }, /env\[0\]' must have a name and a value/],
    [{ type: "sse", url: "u", headers: [{}] }, /headers\[0\]' must have a name and a value/],
  ] as const) {
    it(`refuses ${JSON.stringify(server)}, and names the problem`, () => {
      assert.throws(() => one(server), { code: -32602, message: words });
    });
  }
});
