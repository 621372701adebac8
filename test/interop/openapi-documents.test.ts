import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { before, describe, it } from "node:test";

import { Ajv2020 } from "ajv/dist/2020.js";

import { OpenApiDocument } from "../../src/upstream/openapi/document.ts";
import { operationsOf } from "../../src/upstream/openapi/operations.ts";
import { SampleHome } from "../samples/sample-home.ts";
import { Packages } from "../support/packages.ts";
import { Program } from "../support/program.ts";

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
