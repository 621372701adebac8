import { defined } from "../../base/defined.ts";
import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { HttpServer } from "../../../test/upstream/http-server.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { loadDocument, serverOf } from "./openapi-server.ts";

async function fromFile(document: object | string, url?: string): Promise<string> {
  await using folder = await SampleFolder.create();
  await mkdir(folder.path, { recursive: true });
  const openapi = join(folder.path, "api.yaml");
  await writeFile(openapi, typeof document === "string" ? document : JSON.stringify(document));
  return (await loadDocument(defined({ openapi, url, headers: {} }))).base;
}

const servers = (url: string, variables?: object): object => ({
  openapi: "3.0.0",
  servers: [{ url, ...(variables === undefined ? {} : { variables }) }],
});

/** JSON of so many levels. */
function nested(levels: number): string {
  return `${'{"items":'.repeat(levels - 1)}{}${"}".repeat(levels - 1)}`;
}

describe("loadDocument()", () => {
  it("reads JSON and YAML, and finds the address of the API", async () => {
    assert.equal(await fromFile(servers("https://a.example/v1/")), "https://a.example/v1");
    const yaml =
      "openapi: 3.1.0\nservers:\n  - url: https://a.example/{v}\n    variables: {v: {default: v2}}\n";
    assert.equal(await fromFile(yaml), "https://a.example/v2");
    assert.equal(await fromFile(servers("/v1"), "https://b.example/x/"), "https://b.example/x");
  });

  it("reads a document that is nested as deeply as a message may be", async () => {
    const document = `{"openapi":"3.1.0","servers":[{"url":"https://a.example"}],"a":${nested(255)}}`;
    assert.equal(await fromFile(document), "https://a.example");
  });

  it("says what is wrong with a document", async () => {
    for (const [document, says] of [
      [{ swagger: "2.0" }, /is of Swagger 2\.0\. Convert it to OpenAPI 3/],
      [{ openapi: "4.0.0" }, /does not say that it is of OpenAPI 3/],
      ["[1]", /is not an object/],
      ["openapi: 3.1.0\na: &a {b: *a, c: *a}", /is nested deeper than 256 levels/],
      [`{"openapi":"3.1.0","a":${nested(10_000)}}`, /is nested deeper than 256 levels/],
      ["a: [", /is neither JSON nor YAML/],
      [`a: ${"[".repeat(1_000_000)}`, /its brackets are not closed/],
      [`a:\n${"- ".repeat(1_000_000)}`, /its brackets are not closed/],
      ["{ broken", /is neither JSON nor YAML/],
      [servers("/v1"), /does not say where its API is .*Set 'url'/],
      [servers("https://{host}/"), /does not say where its API is/],
      [servers("file:///etc/"), /does not say where its API is/],
    ] as const) {
      await assert.rejects(fromFile(document), says);
    }
    const openapi = "/no/such/file";
    await assert.rejects(
      loadDocument({ openapi, headers: {} }),
      /there is no file '\/no\/such\/file'/,
    );
    await assert.rejects(
      loadDocument({ openapi: "/", headers: {} }),
      /cannot be read: '\/': it is a folder/,
    );
  });

  it("lets a document of the web send calls to its own origin only", async () => {
    let document: object = servers("/v1");
    await using server = await HttpServer.open(({ response }) =>
      response.end(JSON.stringify(document)),
    );
    const openapi = server.url.href;
    const headers = { "x-key": "s3cret" };
    assert.equal((await loadDocument({ openapi, headers })).base, `${server.url.origin}/v1`);
    document = servers("https://evil.example/v1");
    const elsewhere = /sends its calls elsewhere, to https:\/\/evil\.example\/v1\. Set 'url'/;
    await assert.rejects(loadDocument({ openapi, headers }), elsewhere);
    assert.equal(server.exchanges[0]?.headers["x-key"], "s3cret");
    const url = "https://other.example/v2";
    assert.equal((await loadDocument({ openapi, url, headers })).base, url);
    assert.equal(server.exchanges.at(-1)?.headers["x-key"], undefined, "it is for another server");
  });

  it("says that it cannot be downloaded, without what may be a key in its address", async () => {
    await using server = await HttpServer.open(({ response }) => response.writeHead(403).end());
    const { href } = new URL("/0123456789abcdef/api.json", server.url);
    const loading = loadDocument({ openapi: href, headers: {} });
    await assert.rejects(loading, /cannot be read: http:\S+\/…\/api\.json answered 403/);
  });
});

describe("serverOf()", () => {
  it("knows no server without an address", () => {
    for (const none of [undefined, [], [{}], [{ url: "/relative" }]]) {
      assert.equal(serverOf(none, undefined), undefined);
    }
  });

  it("takes no longer for an address of braces", () => {
    const url = `https://a.example/${"{".repeat(1_000_000)}b}`;
    const variables = { b: { default: "v1" } };
    const server = serverOf([{ url, variables }], undefined);
    assert.ok(server?.pathname.endsWith("%7Bv1"));
  });
});
