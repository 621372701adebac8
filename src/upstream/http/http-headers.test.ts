import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { modernHeaders } from "./http-headers.ts";

describe("modernHeaders()", () => {
  const headersOf = (name: string, region: unknown): Record<string, string> =>
    modernHeaders(
      { method: "tools/call", params: { name, arguments: { region } } },
      "2026-07-28",
      () => [{ header: "region", path: ["region"] }],
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
