import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import { scaffoldPlugin } from "../../src/plugin/scaffold/scaffold.ts";

const ROOT = join(import.meta.dirname, "../..");
const COMPILER = join(ROOT, "node_modules/typescript/bin/tsc");
/** As outside of any test: the runner tells what it starts that it is part of one. */
const { NODE_TEST_CONTEXT: _, ...env } = process.env;

const execute = promisify(execFile);
const run = (command: string, args: readonly string[], cwd = ROOT) =>
  execute(command, args, { cwd, env });

describe("the packed package that plugins import", { timeout: 600_000 }, () => {
  let home: string;

  before(async () => {
    home = await mkdtemp(join(tmpdir(), "trunkline-plugin-"));
    // Of what was built before; test/interop/package.test.ts packs what it builds itself.
    const pack = ["pack", "--ignore-scripts", "--json", "--pack-destination", home];
    const packed = await run("npm", pack);
    const [{ filename }] = JSON.parse(packed.stdout) as [{ filename: string }];
    const installed = join(home, "node_modules/trunkline");
    await mkdir(installed, { recursive: true });
    const unpack = ["-xzf", join(home, filename), "-C", installed, "--strip-components=1"];
    await run("tar", unpack);
    await mkdir(join(home, "node_modules/@types"));
    await symlink(join(ROOT, "node_modules/@types/node"), join(home, "node_modules/@types/node"));
    const types = join(ROOT, "node_modules/undici-types");
    await symlink(types, join(home, "node_modules/undici-types"));
  });

  after(() => rm(home, { recursive: true }));

  it("type-checks and runs the examples of the guide, and has the types of a tool's arguments", async () => {
    const guide = await readFile(join(ROOT, "docs/PLUGINS.md"), "utf8");
    const blocks = Array.from(guide.matchAll(/^```ts\n(.*?)^```$/gms), ([, code = ""]) => code);
    const [greeter = ""] = blocks;
    assert.ok(blocks.length >= 5, `only found ${blocks.length} blocks`);
    const shown = join(home, "shown");
    await mkdir(shown);
    await writeFile(join(shown, "package.json"), '{ "type": "module" }');
    await writeFile(join(shown, "plugin.ts"), greeter);
    const programs = blocks.map((code, index) => {
      const isTest = code.includes("node:test");
      return { code, isTest, file: join(shown, `block-${index}${isTest ? ".test" : ""}.ts`) };
    });
    for (const { file, code } of programs) await writeFile(file, code);
    const wrong = join(shown, "wrong.ts");
    const text = greeter.replace("({ name }) => `Hello, ${name}`", "({ name }) => name.toFixed()");
    await writeFile(wrong, text);
    // All in one run of the compiler, the package's own declarations too: it finds this and no more.
    const files = [...programs.map(({ file }) => file), wrong];
    await assert.rejects(compile(...files), ({ stdout }: { stdout: string }) => {
      const errors = stdout.match(/error TS.*/g) ?? [];
      assert.equal(errors.length, 1, stdout);
      assert.match(errors[0] ?? "", /'toFixed' does not exist on type 'string'/);
      return true;
    });
    for (const { file, isTest } of programs) {
      const flags = isTest ? [] : ["--manifest"];
      const { stdout } = await run(process.execPath, [file, ...flags], shown);
      assert.match(stdout, isTest ? /^ℹ pass 1$/m : /^\{"id":"/);
    }
  });

  it("passes the test and the type check of a new plugin", async () => {
    const begun = join(home, "begun");
    const said = await scaffoldPlugin(begun, "tools.begun");
    assert.match(said, /npm install\n {2}npm test\n/);
    const files = [
      ...["README.md", "package.json", "plugin.test.ts", "plugin.ts", "trunkline.plugin.json"],
      "tsconfig.json",
    ];
    assert.deepEqual((await readdir(begun)).toSorted(), files);
    const { stdout } = await run(process.execPath, ["--test"], begun);
    assert.match(stdout, /^ℹ pass 3$/m);
    await run(process.execPath, [COMPILER, "--project", begun], begun);
    const manifest = await run(process.execPath, ["plugin.ts", "--manifest"], begun);
    assert.equal((JSON.parse(manifest.stdout) as { id: string }).id, "tools.begun");
  });

  /** Strictly, and declarations are not skipped. */
  async function compile(...files: string[]): Promise<void> {
    const options = [
      ...["--ignoreConfig", "--noEmit", "--strict", "--exactOptionalPropertyTypes"],
      ...["--module", "nodenext", "--target", "esnext", "--lib", "esnext", "--types", "node"],
      "--allowImportingTsExtensions",
    ];
    await run(process.execPath, [COMPILER, ...options, ...files], home);
  }
});
