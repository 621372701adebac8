import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { systemProgram } from "../../sandbox/system-program.ts";
import { House } from "../house.ts";
import { LocalSandbox } from "./local-sandbox.ts";

const isMissing = ["bwrap", "nsenter"].some((name) => systemProgram(name) === undefined);
const skip = isMissing && "It needs bubblewrap and nsenter: install bubblewrap and util-linux.";

const SCRIPT = `cat mine.jsonc token.key
for file in mine.jsonc token.key; do echo {} > $file; rm $file; mv other $file; done
touch other && echo done`;

describe("LocalSandbox", { skip, timeout: 60_000 }, () => {
  it("hides the user's configuration and the key beside it, also in the session's folder", async () => {
    await using home = await SampleHome.create();
    const { project } = home;
    const file = join(project, "mine.jsonc");
    const text = '{ "agent": { "sandbox": "on" } } // s3cret';
    await home.write(file, text);
    await home.write(join(project, "token.key"), "s3cret");
    for (const named of [{ flags: { config: file } }, { env: { TRUNKLINE_CONFIG: file } }]) {
      const { config, files } = await home.load(named);
      const paths = files.map(({ path }) => path);
      const house = new House(config, { files: paths, load: async () => config });
      const env = { PATH: process.env.PATH, HOME: home.path, ...named.env };
      await using sandbox = new LocalSandbox(house, [project], env);
      await using inside = await sandbox.enter(async () => false);
      const shell = { command: "/bin/sh", args: ["-c", SCRIPT], env, cwd: project };
      const { command = "", args = [], ...options } = inside?.confine(shell) ?? {};
      const { stdout } = await promisify(execFile)(command, args, options);
      assert.equal(stdout, "done\n");
      assert.equal(await readFile(file, "utf8"), text);
      assert.equal(await readFile(join(project, "token.key"), "utf8"), "s3cret");
    }
  });
});
