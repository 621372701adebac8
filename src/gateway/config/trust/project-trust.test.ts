import assert from "node:assert/strict";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { ConfigInput } from "../config.ts";
import { trustProject, untrustProject } from "./project-trust.ts";
import { SampleHome } from "../../../../test/samples/sample-home.ts";

const PROJECT = `{
  "log": { "level": "warn", "verbose": true },
  "server": { "port": 1 },
  "mcpServers": { "a": { "command": "a" } }
}`;

function inputOf(home: SampleHome, cwd = home.project): ConfigInput {
  return { cwd, env: { HOME: home.path }, flags: {} };
}

describe("trustProject()", () => {
  it("refuses a file that cannot be parsed, and a folder without one", async () => {
    await using home = await SampleHome.create();
    await assert.rejects(trustProject(inputOf(home)), {
      code: "not-found",
      message:
        `Cannot trust: there is no .trunkline.jsonc in '${home.project}' ` +
        "or above it in the same repository",
    });
    await home.write(home.projectFile, "{");
    await assert.rejects(trustProject(inputOf(home)), { code: "config" });
    await assert.rejects(stat(join(home.data, "trust.json")), { code: "ENOENT" });
  });
});

describe("untrustProject()", () => {
  it("withdraws the trust, once", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await trustProject(inputOf(home));
    const file = home.projectFile;
    assert.deepEqual(await untrustProject(inputOf(home)), { file, wasTrusted: true });
    assert.equal((await home.load()).config.server.port, 4180);
    assert.deepEqual(await untrustProject(inputOf(home)), { file, wasTrusted: false });
  });

  it("forgets a file that no longer exists", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await trustProject(inputOf(home));
    await rm(home.projectFile);
    assert.equal((await untrustProject(inputOf(home))).wasTrusted, true);
  });
});
