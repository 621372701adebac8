import assert from "node:assert/strict";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../test/samples/sample-home.ts";

describe("loadConfig() finds", () => {
  it("the user's file by option, variable and XDG folder, in this order", async () => {
    await using home = await SampleHome.create();
    const [byFlag, byVariable] = [join(home.path, "flag.jsonc"), join(home.path, "variable.jsonc")];
    const byFolder = join(home.path, "xdg/trunkline/config.jsonc");
    await home.write(byFlag, `{ "serve": { "port": 1 } }`);
    await home.write(byVariable, `{ "serve": { "port": 2 } }`);
    await home.write(byFolder, `{ "serve": { "port": 3 } }`);
    await home.write(home.userFile, `{ "serve": { "port": 4 } }`);
    const xdg = { XDG_CONFIG_HOME: join(home.path, "xdg") };
    const env = { ...xdg, TRUNKLINE_CONFIG: byVariable };
    const port = async (options: Parameters<SampleHome["load"]>[0]) => {
      return (await home.load(options)).config.serve.port;
    };
    assert.equal(await port({ env, flags: { config: "../flag.jsonc" } }), 1);
    assert.equal(await port({ env }), 2);
    assert.equal(await port({ env: xdg }), 3);
    assert.equal(await port({}), 4);
    assert.equal(await port({ env: { XDG_CONFIG_HOME: "xdg" } }), 4);
  });

  it("the data folder by option, variable, file and XDG folder, in this order", async () => {
    await using home = await SampleHome.create();
    const xdg = { XDG_STATE_HOME: "/xdg" };
    const data = async (options: Parameters<SampleHome["load"]>[0]) => {
      return (await home.load(options)).config.data;
    };
    assert.equal(await data({}), home.data);
    assert.equal(await data({ env: xdg }), "/xdg/trunkline");
    await home.write(home.userFile, `{ "data": "/file" }`);
    assert.equal(await data({ env: xdg }), "/file");
    const env = { ...xdg, TRUNKLINE_DATA: "~/variable" };
    assert.equal(await data({ env }), join(home.path, "variable"));
    assert.equal(await data({ env, flags: { data: "flag" } }), join(home.project, "flag"));
  });

  it("the nearest project file up to the root of the repository, and none above it", async () => {
    await using home = await SampleHome.create();
    const deep = join(home.project, "a/b");
    await mkdir(deep, { recursive: true });
    const levelIn = async (cwd: string) => (await home.load({ cwd })).config.log.level;
    await home.write(join(home.path, ".trunkline.jsonc"), `{ "log": { "level": "error" } }`);
    assert.equal(await levelIn(deep), "info");
    await home.write(home.projectFile, `{ "log": { "level": "warn" } }`);
    assert.equal(await levelIn(deep), "warn");
    await home.write(join(home.project, "a/.trunkline.jsonc"), `{ "log": { "level": "debug" } }`);
    assert.equal(await levelIn(deep), "debug");
  });

  it("outside a repository only the project file of the folder itself", async () => {
    await using home = await SampleHome.create();
    const outside = join(home.path, "outside");
    await home.write(join(outside, ".trunkline.jsonc"), `{ "log": { "level": "warn" } }`);
    await mkdir(join(outside, "below"));
    assert.equal((await home.load({ cwd: outside })).config.log.level, "warn");
    assert.equal((await home.load({ cwd: join(outside, "below") })).config.log.level, "info");
  });

  it("a work tree whose '.git' is a file", async () => {
    await using home = await SampleHome.create();
    const tree = join(home.path, "tree");
    await home.write(join(tree, ".git"), "gitdir: elsewhere\n");
    await home.write(join(tree, ".trunkline.jsonc"), `{ "log": { "level": "warn" } }`);
    await mkdir(join(tree, "below"));
    assert.equal((await home.load({ cwd: join(tree, "below") })).config.log.level, "warn");
  });
});
