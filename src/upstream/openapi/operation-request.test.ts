import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OpenApiDocument } from "./document.ts";
import { type OperationRequest, requestFor } from "./operation-request.ts";
import { operationsOf } from "./operations.ts";

const BASE = "https://api.example/v1";

/** The request of an operation with these parameters, called with these arguments. */
function request(
  args: Record<string, unknown>,
  {
    path = "/a",
    parameters = [],
    ...more
  }: { path?: string; parameters?: object[]; requestBody?: object },
): OperationRequest {
  const paths = { [path]: { post: { parameters, ...more } } };
  const [operation] = operationsOf(new OpenApiDocument({ openapi: "3.1.0", paths }));
  assert.ok(operation !== undefined);
  return requestFor(operation, BASE, args);
}

const query = (value: unknown, more: object = {}): string =>
  request({ q: value }, { parameters: [{ name: "q", in: "query", schema: {}, ...more }] }).url
    .search;
const path = (value: unknown, more: object = {}): string =>
  request({ id: value }, { path: "/a/{id}/b", parameters: [{ name: "id", in: "path", ...more }] })
    .url.pathname;
const body = (value: unknown, type: string): OperationRequest =>
  request({ body: value }, { requestBody: { content: { [type]: { schema: {} } } } });

describe("requestFor()", () => {
  it("sends nothing for an argument that is not given, whatever its name", () => {
    const parameters = ["constructor", "toString"].map((name) => ({ name, in: "query" }));
    assert.equal(request({}, { parameters }).url.search, "");
    assert.equal(request({ toString: "a" }, { parameters }).url.search, "?toString=a");
  });

  it("writes values in the style of their parameter", () => {
    assert.equal(query("a b&c"), "?q=a+b%26c");
    assert.equal(query([1, "b"]), "?q=1&q=b");
    assert.equal(query([1, "b"], { explode: false }), "?q=1%2Cb");
    assert.equal(query([1, 2], { style: "pipeDelimited", explode: false }), "?q=1%7C2");
    assert.equal(query({ a: 1, b: true }), "?a=1&b=true");
    assert.equal(query({ a: 1, b: 2 }, { style: "deepObject" }), "?q%5Ba%5D=1&q%5Bb%5D=2");
    assert.equal(query({ a: 1 }, { content: { "application/json": {} } }), "?q=%7B%22a%22%3A1%7D");
    assert.equal(query(undefined), "");
    assert.equal(path(7), "/v1/a/7/b");
    assert.equal(path(["x", "y/z"]), "/v1/a/x,y%2Fz/b");
    assert.equal(path("x", { style: "matrix" }), "/v1/a/;id=x/b");
    const header = { parameters: [{ name: "X-Ids", in: "header" }] };
    assert.equal(request({ "X-Ids": [1, 2] }, header).headers["X-Ids"], "1,2");
    const cookie = { parameters: [{ name: "c", in: "cookie" }] };
    assert.equal(request({ c: "a; b=1" }, cookie).headers.cookie, "c=a%3B%20b%3D1");
  });

  it("does not let an argument lead to another path or host", () => {
    for (const value of ["..", ".", "../../admin", "a/../b", "a\\..\\b"]) {
      assert.throws(() => path(value), /may not be '\.{1,2}'/, value);
    }
    assert.throws(() => path(""), /'id' is empty/);
    assert.equal(path(".%2E"), "/v1/a/.%252E/b");
    assert.equal(path("group/.project..x"), "/v1/a/group%2F.project..x/b");
    assert.equal(path("//evil.example/"), "/v1/a/%2F%2Fevil.example%2F/b");
    assert.equal(path("x?y#z"), "/v1/a/x%3Fy%23z/b");
    assert.equal(path("$&"), "/v1/a/%24%26/b");
    assert.throws(() => request({}, { path: "/a/{unknown}" }), /does not describe \{unknown\}/);
    const many = `/a/${"{".repeat(1_000_000)}`;
    assert.throws(() => request({}, { path: `${many}b}` }), /does not describe \{b\}/);
  });

  it("refuses a header with a line break, and a call without what it needs", () => {
    const header = { parameters: [{ name: "X", in: "header" }] };
    assert.throws(() => request({ X: "a\r\nevil: 1" }, header), /may not have line breaks/);
    const needed = { parameters: [{ name: "q", in: "query", required: true }] };
    assert.throws(() => request({}, needed), /'q' is missing/);
    const content = { "application/json": {} };
    assert.throws(
      () => request({}, { requestBody: { required: true, content } }),
      /'body' is missing/,
    );
  });

  it("writes a body in its media type", () => {
    assert.equal(body({ a: [1] }, "application/json").body, '{"a":[1]}');
    assert.equal(body([1], "application/vnd.api+json").body, "[1]");
    assert.equal(
      body({ a: 1, b: ["x", "y"] }, "application/x-www-form-urlencoded").body,
      "a=1&b=x&b=y",
    );
    assert.equal(body("plain", "text/plain").body, "plain");
    const form = body({ 'n"m': "v", o: { p: 1 } }, "multipart/form-data");
    const [, boundary = ""] = /boundary=(\S+)/.exec(form.headers["content-type"] ?? "") ?? [];
    const parts = String(form.body).split(`--${boundary}`);
    assert.equal(parts.length, 4);
    assert.match(parts[1] ?? "", /name="n%22m"\r\n\r\nv\r\n$/);
    assert.match(parts[2] ?? "", /name="o"\r\n\r\n\{"p":1\}\r\n$/);
  });
});
