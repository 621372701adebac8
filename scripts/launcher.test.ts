import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtempDisposable, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";

const LAUNCHER = await readFile(new URL("launcher.js", import.meta.url), "utf8");

/** A program that says which compile cache it runs with. */
const MAIN = `import { getCompileCacheDir } from "node:module";
console.log(getCompileCacheDir() ?? "none");
`;

async function installed() {
  const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-launcher-"));
  const { path } = folder;
  await writeFile(join(path, "start.mjs"), LAUNCHER.replace(`"STARTS"`, `{ main: "main.mjs" }`));
  await writeFile(join(path, "main.mjs"), MAIN);
  const start = async (env: NodeJS.ProcessEnv): Promise<string> => {
    const run = promisify(execFile);
    const { stdout, stderr } = await run(process.execPath, [join(path, "start.mjs")], { env });
    assert.equal(stderr, "");
    return stdout.trim();
  };
  return { path, start, [Symbol.asyncDispose]: () => folder.remove() };
}

for (const version of ["10.24.1", "20.20.2", "26.0.9"]) {
  test(`launcher tells Node ${version} in one sentence that it is too old`, () => {
    let said = "";
    const old = {
      versions: { node: version },
      execPath: "/opt/node",
      exitCode: 0,
      stderr: { write: (text: string) => (said += text) },
    };
    runInNewContext(LAUNCHER, { process: old });
    assert.ok(said.startsWith("Trunkline needs Node 26.1 or newer; this is Node "), said);
    assert.ok(said.includes(`Node ${version} at /opt/node.`), said);
    assert.equal(said.indexOf("\n"), said.length - 1);
    assert.equal(old.exitCode, 1);
  });
}

test("launcher keeps compiled code in a folder of the user's own", async () => {
  await using program = await installed();
  const cache = join(program.path, "cache");
  assert.ok((await program.start({ XDG_CACHE_HOME: cache })).startsWith(cache));
  assert.equal((await stat(join(cache, "trunkline/compile"))).mode & 0o777, 0o700);
  const home = join(program.path, "home");
  assert.ok((await program.start({ HOME: home })).startsWith(join(home, ".cache/trunkline")));
});

test("launcher uses no cache that others can write to", async () => {
  await using program = await installed();
  const folder = join(program.path, "trunkline");
  await mkdir(folder);
  await chmod(folder, 0o777);
  assert.equal(await program.start({ XDG_CACHE_HOME: program.path }), "none");
});

test("launcher starts without a cache where none can be made", async () => {
  await using program = await installed();
  assert.equal(await program.start({ HOME: "/dev/null" }), "none");
});
