import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { McpClient } from "../../protocol/mcp/connect/connect.ts";
import { type Exchange, HttpServer } from "../../../test/upstream/http-server.ts";
import { SampleContext } from "../../../test/upstream/sample-context.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import type { OpenApiSettings } from "../settings.ts";
import { OpenApiServer } from "./openapi-server.ts";

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
    const opened = await OpenApiServer.open({ openapi, url: api.url.origin, ...settings }, {});
    const client = await McpClient.connect(opened.channel);
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
