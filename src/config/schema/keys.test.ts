import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import assert from "node:assert/strict";

import { parseFile } from "../file/parse-file.ts";
import { configKeys } from "../../../scripts/schema/config-keys.ts";
import { projectAccess } from "./keys.ts";
import { checkConfigFile } from "./schema.gen.ts";

describe("the schema", () => {
  it("describes every key", () => {
    for (const { path, description } of configKeys()) assert.notEqual(description, "", path);
  });

  it("tells of a key once, also if several forms of a value have it", () => {
    const told = configKeys().filter(({ path }) => path === "mcpServers.NAME.instance");
    assert.equal(told.length, 1);
  });

  it("opens only harmless settings to an untrusted project", () => {
    const open = configKeys().filter(({ path }) => projectAccess(path.split(".")) === "always");
    assert.deepEqual(
      open.map(({ path }) => path),
      ["log.level", "log.verbose"],
    );
    assert.equal(projectAccess(["data"]), "never");
    assert.equal(projectAccess(["agent", "name"]), "trusted");
    assert.equal(projectAccess(["agent", "sandbox"]), "never");
    assert.equal(projectAccess(["agent", "files"]), "never");
    assert.equal(projectAccess(["constructor"]), "trusted");
    // What holds for a group holds for each key in it.
    assert.equal(projectAccess(["fleet", "tls", "keyFile"]), "never");
    assert.equal(projectAccess(["telemetry", "otlp", "endpoint"]), "never");
  });
});

describe("docs/CONFIGURATION.md", () => {
  it("shows a valid example", () => {
    const page = readFileSync(new URL("../../../docs/CONFIGURATION.md", import.meta.url), "utf8");
    const examples = [...page.matchAll(/```jsonc\n([\s\S]*?)```/g)].map((match) => match[1] ?? "");
    assert(examples.length > 0);
    for (const text of examples) {
      assert.equal(checkConfigFile(parseFile("example", text).value), undefined);
    }
  });
});
