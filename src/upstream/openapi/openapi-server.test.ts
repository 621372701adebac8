import { connectClient } from "../../../test/upstream/connect-client.ts";
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { type Exchange, HttpServer } from "../../../test/upstream/http-server.ts";
import { SampleContext } from "../../../test/upstream/sample-context.ts";
import type { McpClient } from "../../protocol/mcp/connect/connect.ts";
import type { HttpRequest } from "../http/http-call.ts";
import type { OpenApiSettings } from "../settings.ts";
import { type Credentials, openApiServer, requestFor, withCredentials } from "./openapi-server.ts";
import { OpenApiDocument } from "./document.ts";
import { operationsOf } from "./operations.ts";

const SCHEMES = {
  header: { type: "apiKey", in: "header", name: "X-Key" },
  query: { type: "apiKey", in: "query", name: "key" },
  cookie: { type: "apiKey", in: "cookie", name: "sid" },
  basic: { type: "http", scheme: "Basic" },
  bearer: { type: "http", scheme: "bearer" },
  login: { type: "oauth2", flows: {} },
};

function sent(security: string[][], credentials: Credentials, headers = {}): string {
  const request = { method: "GET", url: new URL("https://api.example/a?b=1"), headers };
  const { url, headers: all } = withCredentials(request, security, SCHEMES, credentials);
  return `${url.search} ${JSON.stringify(all)}`;
}

describe("withCredentials()", () => {
  it("puts each kind where the document says", () => {
    assert.equal(sent([["header"]], { header: "s" }), '?b=1 {"x-key":"s"}');
    assert.equal(sent([["query"]], { query: "s&t" }), "?b=1&key=s%26t {}");
    const cookie = { cookie: "a=1" };
    assert.equal(sent([["cookie"]], { cookie: "s;t" }, cookie), '?b=1 {"cookie":"a=1; sid=s%3Bt"}');
    assert.equal(sent([["basic"]], { basic: "a:b" }), '?b=1 {"authorization":"Basic YTpi"}');
    assert.equal(sent([["bearer"]], { bearer: "s" }), '?b=1 {"authorization":"Bearer s"}');
    assert.equal(sent([["login"]], { login: "s" }), '?b=1 {"authorization":"Bearer s"}');
  });

  it("takes the first alternative that is complete, and all of it", () => {
    const credentials = { header: "h", query: "q" };
    assert.equal(
      sent(
        [
          ["bearer", "header"],
          ["header", "query"],
        ],
        credentials,
      ),
      '?b=1&key=q {"x-key":"h"}',
    );
    assert.equal(sent([["bearer"], ["basic"]], credentials), "?b=1 {}");
  });

  it("sends none to an operation that needs none", () => {
    assert.equal(sent([], { header: "h" }), "?b=1 {}");
    assert.equal(sent([[], ["header"]], { header: "h" }), "?b=1 {}");
    assert.equal(sent([["toString"]], {}), "?b=1 {}");
  });
});

const BASE = "https://api.example/v1";

/** The request of an operation with these parameters, called with these arguments. */
function request(
  args: Record<string, unknown>,
  {
    path = "/a",
    parameters = [],
    ...more
  }: { path?: string; parameters?: object[]; requestBody?: object },
): HttpRequest {
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
const body = (value: unknown, type: string): HttpRequest =>
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

const PETS = {
  openapi: "3.0.3",
  info: { title: "Pets", version: "1" },
  components: {
    securitySchemes: { key: { type: "apiKey", in: "header", name: "x-key" } },
    schemas: { Pet: { type: "object", properties: { name: { type: "string" } } } },
  },
  security: [{ key: [] }],
  paths: {
    "/pets/{id}": {
      parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
      get: { operationId: "show" },
    },
    "/pets": {
      get: { operationId: "list", security: [] },
      post: {
        operationId: "add",
        requestBody: {
          content: { "application/json": { schema: { $ref: "#/components/schemas/Pet" } } },
        },
      },
    },
    "/other": { get: { operationId: "other", servers: [{ url: "https://evil.example/" }] } },
  },
};

/** A real API, and the client of the server that is made of its document. */
class Rig implements AsyncDisposable {
  readonly api: HttpServer;
  readonly client: McpClient;
  readonly #folder: SampleFolder;
  readonly #end: () => Promise<void>;

  private constructor(
    api: HttpServer,
    client: McpClient,
    folder: SampleFolder,
    end: () => Promise<void>,
  ) {
    this.api = api;
    this.client = client;
    this.#folder = folder;
    this.#end = end;
  }

  static async open(
    answer: (exchange: Exchange) => void,
    settings: Partial<OpenApiSettings> = {},
  ): Promise<Rig> {
    const api = await HttpServer.open(answer);
    const folder = await SampleFolder.create();
    await mkdir(folder.path, { recursive: true });
    const openapi = join(folder.path, "pets.json");
    await writeFile(openapi, JSON.stringify(PETS));
    const opened = await openApiServer({ openapi, url: api.url.origin, ...settings }, {});
    const client = await connectClient(opened.channel);
    return new Rig(api, client, folder, () => opened.end());
  }

  call(name: string, args: Record<string, unknown> = {}): ReturnType<McpClient["callTool"]> {
    return this.client.callTool(name, args, new SampleContext());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.close();
    await this.#end();
    await this.api[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

function textsOf({ content }: { readonly content?: unknown }): string[] {
  return (content as readonly { text: string }[]).map(({ text }) => text);
}

function textOf(result: { readonly content?: unknown }): string {
  return textsOf(result).join("\n");
}

describe("OpenApiServer", { timeout: 600_000 }, () => {
  it("offers the operations, and calls them with arguments and credentials", async () => {
    const auth = { key: "s3cret" };
    await using rig = await Rig.open(
      ({ response }) => {
        response.writeHead(200, { "content-type": "application/json" }).end('{"name":"Tom"}');
      },
      { auth, headers: { "X-Team": "web" }, exclude: ["other"] },
    );
    const tools = await rig.client.listTools();
    assert.deepEqual(
      tools.map(({ name }) => name),
      ["show", "list", "add"],
    );
    assert.equal(rig.client.info.name, "Pets");
    const shown = await rig.call("show", { id: "a/b" });
    assert.deepEqual(shown.structuredContent, { name: "Tom" });
    assert.equal(textOf(shown), '{"name":"Tom"}');
    await rig.call("add", { body: { name: "Tim" } });
    await rig.call("list");
    const seen = rig.api.exchanges.map(({ verb, path, headers }) => [verb, path, headers["x-key"]]);
    assert.deepEqual(seen, [
      ["GET", "/pets/a%2Fb", "s3cret"],
      ["POST", "/pets", "s3cret"],
      // It needs no security, so it gets no credentials.
      ["GET", "/pets", undefined],
    ]);
    assert.deepEqual(rig.api.exchanges[1]?.message, { name: "Tim" });
    assert.equal(rig.api.exchanges[0]?.headers["x-team"], "web");
  });

  it("says in words what an API refuses, with its status", async () => {
    const answers = [404, 401, 500, 204, 302];
    await using rig = await Rig.open(({ response }) => {
      const status = answers.shift() ?? 200;
      const headers = status === 302 ? { location: "https://evil.example/" } : {};
      response.writeHead(status, headers).end(status === 204 ? undefined : "no such pet");
    });
    const results = [];
    for (let count = 0; count < 5; count++) results.push(await rig.call("list"));
    assert.deepEqual(results.map(textOf), [
      "GET /pets answered 404 Not Found: no such pet",
      "GET /pets answered 401 Unauthorized (it wants credentials, or others: see 'auth' and 'headers' of the server): no such pet",
      "GET /pets answered 500 Internal Server Error: no such pet",
      "GET /pets answered 204 No Content.",
      "GET /pets failed: it redirects to https://evil.example/, which is another server: configure that address if you trust it.",
    ]);
    assert.deepEqual(
      results.map(({ isError = false }) => isError),
      [true, true, true, false, true],
    );
  });

  it("calls nothing with wrong arguments, nor at another origin", async () => {
    await using rig = await Rig.open(({ response }) => response.end());
    assert.equal(textOf(await rig.call("show")), "Cannot call GET /pets/{id}: 'id' is missing.");
    const other = textOf(await rig.call("other"));
    assert.match(other, /its document sends it elsewhere, to https:\/\/evil\.example/);
    assert.equal(rig.api.exchanges.length, 0);
  });

  it("cuts off an answer without end, and passes on images and lists", async () => {
    await using rig = await Rig.open(({ path, response }) => {
      const types: Record<string, string> = {
        "/pets/png": "image/png",
        "/pets/bin": "application/zip",
      };
      response.writeHead(200, { "content-type": types[path] ?? "application/json" });
      if (path === "/pets/endless") response.write(Buffer.alloc(1_200_000, "a"));
      else response.end(path === "/pets/list" ? "[1,2]" : Buffer.from([137, 0, 1]));
    });
    const endless = await rig.call("show", { id: "endless" });
    const [body = "", note = ""] = textsOf(endless);
    assert.equal(body.length, 1_000_000);
    assert.match(note, /longer than 1000000 bytes and was cut off/);
    const image = await rig.call("show", { id: "png" });
    assert.deepEqual(image.content, [{ type: "image", data: "iQAB", mimeType: "image/png" }]);
    const binary = await rig.call("show", { id: "bin" });
    assert.equal(textOf(binary), "GET /pets/{id} answered 3 bytes of application/zip.");
    const list = await rig.call("show", { id: "list" });
    assert.deepEqual([textOf(list), list.structuredContent], ["[1,2]", undefined]);
  });

  it("passes on what is too deep for a message as text only", async () => {
    const deep = `${'{"a":'.repeat(1_000)}1${"}".repeat(1_000)}`;
    await using rig = await Rig.open(({ response }) => {
      response.writeHead(200, { "content-type": "application/json" }).end(deep);
    });
    const { isError, structuredContent, ...rest } = await rig.call("list");
    assert.deepEqual([isError, structuredContent], [undefined, undefined]);
    assert.equal(textOf(rest), deep);
  });

  it("gives a request up when its call is cancelled", async () => {
    const came = Promise.withResolvers<Exchange>();
    await using rig = await Rig.open((exchange) => came.resolve(exchange));
    const context = new SampleContext();
    const call = rig.client.callTool("list", {}, context);
    const exchange = await came.promise;
    context.abort.abort(new Error("enough"));
    await assert.rejects(call, /enough/);
    await exchange.closed;
  });
});
