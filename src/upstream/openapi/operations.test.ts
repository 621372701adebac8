import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OpenApiDocument } from "./document.ts";
import { requestFor } from "./openapi-server.ts";
import { type Operation, operationsOf } from "./operations.ts";

function operations(paths: object, more: object = {}, filter = {}): Operation[] {
  return operationsOf(new OpenApiDocument({ openapi: "3.1.0", paths, ...more }), filter);
}

function only(paths: object, more: object = {}): Operation {
  const [first, ...others] = operations(paths, more);
  assert.ok(first !== undefined && others.length === 0);
  return first;
}

interface Schema {
  readonly properties: Record<string, unknown>;
  readonly required?: readonly string[];
  readonly $defs?: unknown;
}

const schemaOf = ({ tool }: Operation): Schema => tool.inputSchema as Schema;
const parameter = (name: string, place: string, more: object = {}): object => ({
  name,
  in: place,
  schema: { type: "string" },
  ...more,
});

describe("operationsOf()", () => {
  it("refuses a short document whose tools would be long beyond measure", () => {
    // Each with each other are more than are allowed.
    const count = 320;
    const names = Array.from({ length: count }, (_, index) => `S${index}`);
    const ref = (index: number): object => ({ $ref: `#/components/schemas/S${index % count}` });
    const schemas = Object.fromEntries(
      names.map((name, index) => [name, { properties: { next: ref(index + 1) } }]),
    );
    const body = { content: { "application/json": { schema: ref(0) } } };
    const paths = Object.fromEntries(
      names.map((name) => [`/${name}`, { post: { requestBody: body } }]),
    );
    const more = { components: { schemas } };
    assert.throws(() => operations(paths, more), /more than 100000 schemas .*'include'/);
    assert.equal(operations(paths, more, { include: ["POST /S10*"] }).length, 11);
  });

  it("refuses a document whose tools would be a longer list than a server may have", () => {
    const long = { ...parameter("a", "query"), schema: { description: "x".repeat(1_000_000) } };
    const all = Array.from({ length: 40 }, (_, index) => [
      `/p${index}`,
      { get: { parameters: [long] } },
    ]);
    const paths = Object.fromEntries(all) as object;
    assert.throws(() => operations(paths), /list is longer than 32 million .*'include'/);
    assert.equal(operations(paths, {}, { include: ["GET /p1*"] }).length, 11);
  });

  it("leaves out a path that would make another host of the API's address", () => {
    const found = operations({
      "@evil.example/a": { get: {} },
      ".evil.example/a": { get: {} },
      ":8080/a": { get: {} },
      "{host}/a": { get: { parameters: [parameter("host", "path")] } },
      "x-internal": { get: {} },
      "/a": { get: {} },
    });
    assert.deepEqual(
      found.map(({ path }) => path),
      ["/a"],
    );
  });

  it("names tools by their operations, or by method and path, each once", () => {
    const long = "x".repeat(80);
    const found = operations({
      "/pets/{id}": { get: { operationId: "Show a pet!" }, delete: {} },
      "/pets": { get: { operationId: "Show_a_pet" }, post: { operationId: "" } },
      "/long": { get: { operationId: long }, put: { operationId: `${long}y` } },
      "/": { get: { operationId: "äöü" } },
    });
    assert.deepEqual(
      found.map(({ tool }) => tool.name),
      [
        ...["Show_a_pet", "delete_pets_id", "Show_a_pet_2", "post_pets"],
        ...["x".repeat(64), `${"x".repeat(62)}_2`, "operation"],
      ],
    );
  });

  it("says which only read, and what they are for", () => {
    const [get, post] = operations({
      "/a": { get: { summary: "Read", description: "All of it.", deprecated: true }, post: {} },
    });
    assert.deepEqual(get?.tool.annotations, {
      readOnlyHint: true,
      idempotentHint: true,
      openWorldHint: true,
    });
    assert.equal(get?.tool.description, "Deprecated.\n\nRead\n\nAll of it.\n\n(GET /a)");
    assert.equal(get?.tool.title, "Read");
    assert.deepEqual(post?.tool.annotations, {
      readOnlyHint: false,
      idempotentHint: false,
      openWorldHint: true,
    });
  });

  it("takes parameters of the path and of the operation, and tells equal names apart", () => {
    const found = only(
      {
        "/a/{id}": {
          parameters: [parameter("id", "path"), parameter("q", "query", { required: true })],
          post: {
            parameters: [
              { $ref: "#/components/parameters/Id" },
              parameter("q", "query", { description: "What to find" }),
              parameter("body", "header"),
              parameter("Authorization", "header"),
              parameter("content-LENGTH", "header"),
            ],
            requestBody: {
              required: true,
              content: { "text/plain": {}, "application/json": { schema: { type: "object" } } },
            },
          },
        },
      },
      { components: { parameters: { Id: parameter("id", "query") } } },
    );
    const { properties, required } = schemaOf(found);
    assert.deepEqual(Object.keys(properties), ["id", "q", "query_id", "body", "request_body"]);
    assert.deepEqual(required, ["id", "request_body"]);
    assert.deepEqual(properties.q, { type: "string", description: "What to find" });
    assert.equal(found.body?.mediaType, "application/json");
  });

  it("gives arguments names that models take, and says what the API calls them", () => {
    const names = ["$id", "id", "filter[a.b]", "Start<", "Start>", "[]", "名", "x".repeat(70)];
    const description = "When it began";
    const found = only({
      "/a": { get: { parameters: names.map((name) => parameter(name, "query", { description })) } },
    });
    const { properties } = schemaOf(found);
    const [long = ""] = Object.keys(properties).slice(-1);
    assert.equal(long, "x".repeat(64));
    assert.deepEqual(Object.keys(properties).slice(0, -1), [
      "query_id",
      "id",
      "filter_a.b",
      "Start",
      "query_Start",
      "query",
      "query_2",
    ]);
    assert.deepEqual(properties.id, { type: "string", description });
    assert.deepEqual(properties.query_Start, {
      type: "string",
      description: "When it began ('Start>' of the API)",
    });
    assert.deepEqual(
      found.parameters.map(({ name }) => name),
      names,
    );
    const args = { query_Start: "1", "filter_a.b": "2" };
    const { url } = requestFor(found, "https://api.example", args);
    assert.deepEqual(
      [...url.searchParams],
      [
        ["filter[a.b]", "2"],
        ["Start>", "1"],
      ],
    );
  });

  it("brings only the definitions that an operation needs", () => {
    const schema = (name: string): object => ({ $ref: `#/components/schemas/${name}` });
    const body = (name: string): object => ({
      requestBody: { content: { "application/json": { schema: schema(name) } } },
    });
    const schemas = { A: { properties: { b: schema("B") } }, B: { type: "string" }, C: {} };
    const [a, c] = operations(
      { "/a": { post: body("A"), put: body("C") } },
      { components: { schemas } },
    );
    assert.deepEqual(
      [a, c].map((each) => Object.keys(schemaOf(each as Operation).$defs as object)),
      [["C"], ["A", "B"]],
    );
  });

  it("asks nobody for credentials", () => {
    const components = {
      securitySchemes: { key: { type: "apiKey", in: "header", name: "X-Key" } },
    };
    const security = [{ key: [] }, {}];
    const parameters = ["X-Key", "x-key"].map((name) => parameter(name, "header"));
    const paths = { "/a": { get: { parameters } } };
    const found = only(paths, { components, security });
    assert.deepEqual(schemaOf(found).properties, {});
    assert.deepEqual(found.security, [["key"], []]);
    const open = only({ "/a": { get: { security: [] } } }, { components, security });
    assert.deepEqual(open.security, []);
  });

  it("offers what is included and not excluded, by name or by method and path", () => {
    const paths = {
      "/pets": { get: { operationId: "pets/list" }, post: { operationId: "pets/add" } },
      "/users": { get: {} },
    };
    const names = (filter: object): string[] =>
      operations(paths, {}, filter).map(({ tool }) => tool.name);
    assert.deepEqual(names({ include: ["pets*"] }), ["pets_list", "pets_add"]);
    assert.deepEqual(names({ include: ["GET *"], exclude: ["get_users"] }), ["pets_list"]);
    assert.deepEqual(names({ exclude: ["pets/*"] }), ["get_users"]);
  });

  it("gives many operations of the same name names of their own, in no time", () => {
    const names = (id: (n: number) => string, count: number): string[] => {
      const paths = Array.from({ length: count }, (_, n) => {
        return [`/${n}`, { get: { operationId: id(n) } }] as const;
      });
      return operations(Object.fromEntries(paths)).map(({ tool }) => tool.name);
    };
    assert.deepEqual(
      names((n) => (n === 2 ? "a_3" : "a"), 5),
      ["a", "a_2", "a_3", "a_4", "a_5"],
    );
    const many = names((n) => "x".repeat(60) + (n >> 1), 60_000);
    assert.equal(new Set(many).size, 60_000);
    assert.deepEqual(
      names(() => `_${"_".repeat(1_000_000)}a${"_".repeat(1_000_000)}`, 1),
      ["a"],
    );
    assert.deepEqual(
      names(() => `a${"_".repeat(1_000_000)}b`, 1),
      [`a${"_".repeat(63)}`],
    );
  });
});
