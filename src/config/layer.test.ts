import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { checkedValues, keyText, type ConfigLayer, leaves, mergeValues, valueAt } from "./layer.ts";

function layerOf(values: object, kind: ConfigLayer["kind"] = "user"): ConfigLayer {
  return {
    kind,
    values: values as ConfigLayer["values"],
    where: () => kind,
    complain: (path, says) => new Error(`${kind}: '${keyText(path)}' ${says}`),
  };
}

describe("mergeValues()", () => {
  it("merges objects value by value, and replaces lists", () => {
    const merged = mergeValues({ a: { b: 1, c: [1, 2] }, d: 1 }, { a: { c: [3] }, e: 2 });
    assert.deepEqual(merged, { a: { b: 1, c: [3] }, d: 1, e: 2 });
  });

  it("replaces an MCP server as a whole if it becomes a URL, or a program", () => {
    const program = { mcpServers: { s: { command: "x", args: ["y"] } } };
    const address = { mcpServers: { s: { url: "https://a.example" } } };
    assert.deepEqual(mergeValues(program, address), address);
    assert.deepEqual(mergeValues(address, program), program);
    const more = mergeValues(program, { mcpServers: { s: { env: { A: "b" } } } });
    assert.deepEqual(valueAt(more, ["mcpServers", "s", "command"]), "x");
  });

  it("treats a key that every object inherits like any other", () => {
    const merged = mergeValues({}, { constructor: { a: 1 } });
    assert.deepEqual(merged.constructor, { a: 1 });
  });
});

describe("checkedValues()", () => {
  it("blames the layer whose part makes the whole invalid", async () => {
    const weak = layerOf({ agents: { a: { command: "x" } } });
    const strong = layerOf({ agents: { a: { args: 5 } } }, "project");
    assert.deepEqual(await checkedValues([weak]), weak.values);
    await assert.rejects(checkedValues([weak, strong]), /^Error: project: 'agents\.a\.args' /);
  });

  it("leaves out `$schema`", async () => {
    assert.deepEqual(await checkedValues([layerOf({ $schema: "x", data: "/d" })]), { data: "/d" });
  });
});

describe("keyText()", () => {
  it("writes a path in the form that `--set` reads", () => {
    assert.equal(
      keyText(["mcpServers", "my server", "args", 0]),
      'mcpServers["my server"].args[0]',
    );
    assert.equal(keyText(["$x", "a-b"]), "$x.a-b");
    assert.equal(keyText(["fs/*"]), '["fs/*"]');
  });
});

describe("leaves()", () => {
  it("counts lists and empty objects as values", () => {
    const found = [...leaves({ a: { b: 1, c: {} }, d: [{ e: 1 }] })];
    assert.deepEqual(found, [
      [["a", "b"], 1],
      [["a", "c"], {}],
      [["d"], [{ e: 1 }]],
    ]);
  });
});
