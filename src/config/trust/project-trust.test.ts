import assert from "node:assert/strict";
import { rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { ConfigInput } from "../config.ts";
import { trustProject, untrustProject } from "./project-trust.ts";
import { SampleHome } from "../../../test/samples/sample-home.ts";

const PROJECT = `{
  "log": { "level": "warn", "verbose": true },
  "serve": { "port": 1 },
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

  it("refuses a folder that does not exist, although there is a project around it", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await home.write(join(home.project, ".git/HEAD"), "");
    const missing = join(home.project, "mistyped");
    const message = `Cannot trust: there is no folder '${missing}'.`;
    await assert.rejects(trustProject(inputOf(home, missing)), { code: "not-found", message });
    assert.equal((await untrustProject(inputOf(home))).wasTrusted, false);
  });
});

describe("untrustProject()", () => {
  it("withdraws the trust, once", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await trustProject(inputOf(home));
    const file = home.projectFile;
    assert.deepEqual(await untrustProject(inputOf(home)), { file, wasTrusted: true });
    assert.equal((await home.load()).config.serve.port, 4180);
    assert.deepEqual(await untrustProject(inputOf(home)), { file, wasTrusted: false });
  });

  it("forgets a file that no longer exists", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await trustProject(inputOf(home));
    await rm(home.projectFile);
    assert.equal((await untrustProject(inputOf(home))).wasTrusted, true);
  });

  it("forgets the file of a folder that no longer exists, and no other", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await home.write(join(home.project, ".git/HEAD"), "");
    await trustProject(inputOf(home));
    const missing = await untrustProject(inputOf(home, join(home.project, "mistyped")));
    assert.equal(missing.wasTrusted, false);
    await rm(home.project, { recursive: true });
    assert.equal((await untrustProject(inputOf(home))).wasTrusted, true);
  });
});
