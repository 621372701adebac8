import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { SampleHome } from "../../test/samples/sample-home.ts";

/** Prints what a program loads that loads the configuration, first its own files, then Node's. */
const PROGRAM = `
import { registerHooks } from "node:module";
const loaded = [];
registerHooks({
  load(url, context, next) {
    loaded.push(url);
    return next(url, context);
  },
});
const { loadConfig } = await import(${JSON.stringify(new URL("load.ts", import.meta.url).href)});
await loadConfig({ cwd: process.cwd(), env: process.env, flags: { data: "data" } });
console.log(JSON.stringify([...loaded, ...process.moduleLoadList]));
`;

const HEAVY = [
  /jsonc-parser/,
  /schema\.gen\.ts$/,
  /config\/schema\/keys\.gen\.ts$/,
  /^NativeModule crypto$/,
];

async function loadedIn(home: SampleHome, env: NodeJS.ProcessEnv): Promise<string[]> {
  const args = ["--input-type=module", "--eval", PROGRAM];
  const options = { cwd: home.project, env: { HOME: home.path, ...env } };
  const { stdout } = await promisify(execFile)(process.execPath, args, options);
  return JSON.parse(stdout) as string[];
}

/** What declares settings is for `npm run generate`: the program has what that makes of it. */
const DECLARED = /config\/schema\/schema\.ts$|settings-schema\.ts$|capability\/settings\.ts$/;

describe("loadConfig()", () => {
  it("loads no parser, no schema and no cryptography if there is no file", async () => {
    await using home = await SampleHome.create();
    const env = { TRUNKLINE_VERBOSE: "1", TRUNKLINE_DATA: "/data" };
    const loaded = await loadedIn(home, env);
    assert(loaded.some((name) => name.endsWith("config/load.ts")));
    assert.deepEqual(
      loaded.filter((name) => HEAVY.some((heavy) => heavy.test(name))),
      [],
    );
  });

  it("loads them for a project's file, so that the test above can fail", async () => {
    await using home = await SampleHome.create();
    await home.write(home.projectFile, `{ "log": { "level": "warn" } }`);
    const loaded = await loadedIn(home, {});
    for (const heavy of HEAVY)
      assert(
        loaded.some((name) => heavy.test(name)),
        String(heavy),
      );
    assert.deepEqual(
      loaded.filter((name) => DECLARED.test(name)),
      [],
    );
  });
});
