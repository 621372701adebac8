import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { readableEntries } from "./connect.ts";

describe("readableEntries()", () => {
  it("passes on what is right as it is, also what it does not know", () => {
    const tool = {
      name: "a",
      title: "A",
      description: "Does it",
      inputSchema: { type: "object", properties: { b: { type: "string" } }, required: ["b"] },
      outputSchema: { type: "object" },
      annotations: { readOnlyHint: true, color: 1 },
      icons: [{ src: "https://a.example/a.png", sizes: ["any"] }],
      execution: { taskSupport: "optional" },
      _meta: { c: 1 },
      later: null,
    };
    const [same] = readableEntries("tools", [tool], () => assert.fail());
    assert.equal(same, tool);
  });

  for (const [list, entry, expected] of [
    [
      "tools",
      {
        name: "a",
        title: null,
        description: null,
        annotations: null,
        outputSchema: ["object", "null"],
        icons: [{}, { src: "x", theme: "pink" }],
        execution: { taskSupport: 1 },
        inputSchema: { properties: { any: true, none: false, b: {} }, required: ["b", 1] },
        _meta: 7,
      },
      {
        name: "a",
        icons: [{ src: "x" }],
        execution: {},
        inputSchema: { properties: { any: {}, none: { not: {} }, b: {} }, required: ["b"] },
      },
    ],
    [
      "prompts",
      { name: "a", arguments: [null, {}, { name: "b", description: null, required: "yes" }] },
      { name: "a", arguments: [{ name: "b" }] },
    ],
    ["prompts", { name: "a", arguments: null }, { name: "a" }],
    [
      "resources",
      {
        uri: "x://1",
        name: null,
        size: -1,
        mimeType: null,
        annotations: { audience: ["user", "cat"], priority: 2, lastModified: "today" },
      },
      { uri: "x://1", name: "x://1", annotations: { audience: ["user"] } },
    ],
    ["resources", { name: "no address" }, undefined],
    ["resourceTemplates", { uriTemplate: "x://{a}" }, { uriTemplate: "x://{a}", name: "x://{a}" }],
  ] as const) {
    it(`leaves out of an entry of ${list} what clients cannot read: ${JSON.stringify(entry)}`, () => {
      assert.deepEqual(readableEntries(list, [entry]), expected === undefined ? [] : [expected]);
    });
  }

  it("says how many entries it has changed", () => {
    const said: unknown[] = [];
    const entries = [{ name: "a" }, { name: "b", title: null }, { name: "c", title: 1 }];
    readableEntries("tools", entries, (...each) => said.push(each));
    assert.deepEqual(said, [["members of the wrong type", 2]]);
  });
});
