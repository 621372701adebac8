import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import type { Invocation, Values } from "./command.ts";
import { configFlags, openApp, openQuietApp } from "./open-app.ts";

function invocationIn(home: SampleHome, values: Values, err: (text: string) => void): Invocation {
  const write = (text: string): never => assert.fail(text);
  const shown = { color: false, isTerminal: false, width: 80, edge: 80 };
  const streams = { out: write, data: write, err };
  return {
    values,
    positionals: [],
    env: { HOME: home.path },
    cwd: home.project,
    ...streams,
    ...shown,
  };
}

describe("configFlags()", () => {
  it("uses only global options: another command's --host is not the server's", () => {
    const values = { config: "/c", data: "/d", set: ["a=b"], host: "git.example.org", port: "1" };
    assert.deepEqual(configFlags(values), { config: "/c", data: "/d", set: ["a=b"] });
  });
});

describe("openApp()", () => {
  it("reports mistakes in the configuration, and continues", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, '{ "serve": { "port": 1 } }');
    let told = "";
    const app = await openApp(invocationIn(home, {}, (text) => (told += text)));
    assert.match(told, /^trunkline: .*\.trunkline\.jsonc/);
    assert.equal(app.config.serve.port, 4180);
  });

  it("lets `serve` set its address", async () => {
    await using home = await SampleHome.create();
    const invocation = invocationIn(home, { set: ["serve.port=1"] }, assert.fail);
    const { config } = await openApp(invocation, { host: "0.0.0.0", port: "2" });
    assert.deepEqual([config.serve.host, config.serve.port], ["0.0.0.0", 2]);
  });
});

describe("openQuietApp()", () => {
  it("logs only errors, unless every message is wanted", async () => {
    await using home = await SampleHome.create();
    const quiet = await openQuietApp(invocationIn(home, { set: ["log.level=debug"] }, assert.fail));
    assert.equal(quiet.config.log.level, "error");
    const verbose = invocationIn(home, { set: ["log.verbose=true"] }, assert.fail);
    assert.equal((await openQuietApp(verbose)).config.log.verbose, true);
  });
});
