import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { modernHeaders, parameterHeaders } from "./http-headers.ts";
import { covers } from "../../../test/support/requirement.ts";

const schemaOf = (properties: object): object => ({ type: "object", properties });

describe("parameterHeaders()", () => {
  it("finds what a schema requires to be repeated, at any depth", () => {
    const schema = schemaOf({
      plain: { type: "string" },
      region: { type: "string", "x-mcp-header": "Region" },
      deep: schemaOf({ on: { type: "boolean", "x-mcp-header": "On" } }),
    });
    assert.deepEqual(
      [...(parameterHeaders(schema) ?? [])],
      [
        ["region", ["region"]],
        ["on", ["deep", "on"]],
      ],
    );
  });

  const WRONG: Record<string, object> = {
    "a name that is empty": { a: { type: "string", "x-mcp-header": "" } },
    "a name with a blank": { a: { type: "string", "x-mcp-header": "My Header" } },
    "a name that is no text": { a: { type: "string", "x-mcp-header": 7 } },
    "a number": { a: { type: "number", "x-mcp-header": "A" } },
    "an object": { a: { type: "object", "x-mcp-header": "A" } },
    "a name twice": {
      a: { type: "string", "x-mcp-header": "Same" },
      b: { type: "string", "x-mcp-header": "same" },
    },
  };
  for (const [what, properties] of Object.entries(WRONG)) {
    it(`refuses ${what}`, () => {
      covers("mcp.modern-http-client.bad-marks");
      assert.equal(parameterHeaders(schemaOf(properties)), undefined);
    });
  }
});

describe("modernHeaders()", () => {
  const headersOf = (name: string, region: unknown): Record<string, string> =>
    modernHeaders(
      { method: "tools/call", params: { name, arguments: { region } } },
      "2026-07-28",
      () => new Map([["region", ["region"]]]),
    );

  const VALUES: [value: unknown, header: string | undefined][] = [
    ["eu", "eu"],
    ["e u", "e u"],
    [" eu", "=?base64?IGV1?="],
    ["", "=?base64??="],
    ["ü", "=?base64?w7w=?="],
    ["a\nb", "=?base64?YQpi?="],
    ["=?base64?x?=", "=?base64?PT9iYXNlNjQ/eD89?="],
    [42, "42"],
    [false, "false"],
    [null, undefined],
    [undefined, undefined],
    [{}, undefined],
  ];
  for (const [value, header] of VALUES) {
    it(`encodes ${JSON.stringify(value)} as ${header ?? "nothing"}`, () => {
      const headers = headersOf("t", value);
      assert.equal(headers["mcp-param-region"], header);
      assert.equal(headers["mcp-name"], "t");
      assert.equal(headers["mcp-method"], "tools/call");
    });
  }
});
