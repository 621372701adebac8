import assert from "node:assert/strict";
import { readdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { ConfigInput } from "../config.ts";
import { trustProject } from "./project-trust.ts";
import { SampleHome } from "../../../test/samples/sample-home.ts";

const PROJECT = `{
  "log": { "level": "warn", "verbose": true },
  "serve": { "port": 1 },
  "mcpServers": { "a": { "command": "a" } }
}`;

function inputOf(home: SampleHome, cwd = home.project): ConfigInput {
  return { cwd, env: { HOME: home.path }, flags: {} };
}

describe("TrustStore", () => {
  it("stores its entries in a file that only the user can read", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await trustProject(inputOf(home));
    assert.deepEqual(await readdir(home.data), ["trust.json"]);
    const file = join(home.data, "trust.json");
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    const { files } = JSON.parse(await readFile(file, "utf8"));
    assert.deepEqual(Object.keys(files), [home.projectFile]);
    assert.match(files[home.projectFile], /^[0-9a-f]{64}$/);
  });

  it("throws if its own file is broken", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await trustProject(inputOf(home));
    for (const text of ["{", "[]", "null", `{ "files": 5 }`]) {
      await writeFile(join(home.data, "trust.json"), text);
      await assert.rejects(home.load(), /Cannot read '.*trust\.json': .* Delete it, then trust/);
    }
  });
});
