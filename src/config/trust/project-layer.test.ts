import assert from "node:assert/strict";
import { symlink } from "node:fs/promises";
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

function ignored(home: SampleHome, position: string, key: string): string {
  const how = "this project file is not trusted. Read it, then run `trunkline config trust`";
  return `${home.projectFile}:${position}: '${key}' is ignored: ${how}`;
}

describe("an untrusted project file", () => {
  it("sets harmless values; the rest is ignored and listed in a warning", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    const { config, warnings, files } = await home.load();
    assert.deepEqual(config.log, { level: "warn", verbose: true, requests: false });
    assert.equal(config.serve.port, 4180);
    assert.deepEqual(config.mcpServers, {});
    assert.deepEqual(warnings, [ignored(home, "3:3", "serve"), ignored(home, "4:3", "mcpServers")]);
    const project = { kind: "project", path: home.projectFile, isFound: true, isTrusted: false };
    assert.deepEqual(files[1], project);
  });

  it("is not checked for values that it may not set", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, `{ "serve": 5, "nonsense": 1, "log": { "colour": 1 } }`);
    const { warnings } = await home.load();
    assert.deepEqual(warnings, [
      ignored(home, "1:3", "serve"),
      ignored(home, "1:15", "nonsense"),
      ignored(home, "1:39", "log.colour"),
    ]);
  });

  it("is an error if a value that it may set is wrong", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, `{ "log": 5 }`);
    const message = `${home.projectFile}:1:10: 'log' must be an object`;
    await assert.rejects(home.load(), { code: "config", message });
  });
});

describe("a trusted project file", () => {
  it("sets everything except the data folder, until it changes", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT.replace("{", `{ "data": "here",`));
    const { file, keys } = await trustProject(inputOf(home));
    assert.equal(file, home.projectFile);
    assert.deepEqual(keys, ["data", "log", "serve", "mcpServers"]);

    const { config, warnings } = await home.load();
    assert.equal(config.serve.port, 1);
    assert.deepEqual(config.mcpServers, { a: { command: "a" } });
    assert.equal(config.data, home.data);
    const reason = "'data' is ignored: a project file cannot set it";
    assert.deepEqual(warnings, [`${home.projectFile}:1:3: ${reason}`]);

    await home.write(home.projectFile, PROJECT.replace('"a" }', '"b" }'));
    assert.deepEqual((await home.load()).config.mcpServers, {});
    await home.write(home.projectFile, PROJECT);
    assert.deepEqual((await home.load()).config.mcpServers, {});
    await trustProject(inputOf(home));
    assert.deepEqual((await home.load()).config.mcpServers, { a: { command: "a" } });
  });

  it("is trusted from any folder of the project, and through a link to it", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await home.write(join(home.project, "below/file"), "");
    const link = join(home.path, "link");
    await symlink(home.project, link);
    await trustProject(inputOf(home, join(home.project, "below")));
    for (const cwd of [home.project, join(home.project, "below"), link]) {
      assert.equal((await home.load({ cwd })).config.serve.port, 1, cwd);
    }
  });

  it("is not read through a link from another project", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, PROJECT);
    await trustProject(inputOf(home));
    const stranger = join(home.path, "stranger");
    await home.write(join(stranger, ".git"), "");
    await symlink(home.projectFile, join(stranger, ".trunkline.jsonc"));
    await assert.rejects(home.load({ cwd: stranger }), /a link on its path leads out/);
  });

  it("is checked like any other", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, `{ "serve": { "port": -1 } }`);
    await trustProject(inputOf(home));
    const message = `${home.projectFile}:1:22: 'serve.port' must be at least 0`;
    await assert.rejects(home.load(), { code: "config", message });
  });
});
