import assert from "node:assert/strict";
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmod,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { runInNewContext } from "node:vm";

import { SmallDisk } from "../test/support/small-disk.ts";
import { type Build, installBuild } from "./install-build.ts";
import { packOf } from "./pack.ts";

const LAUNCHER = await readFile(new URL("launcher.js", import.meta.url), "utf8");

/** A program that says which compile cache it runs with, and loads more when it reads something. */
const START = `import { getCompileCacheDir } from "node:module";
console.log(getCompileCacheDir() ?? "none");
process.stdin.once("data", async () => {
  const { answer } = await import("./later.js");
  console.log(answer);
  process.stdin.destroy();
});
`;

function build(answer = "loaded"): Build {
  const modules = {
    "start.js": START,
    "later.js": `export { answer } from "./last.js";`,
    "last.js": `export const answer = "${answer}";`,
  };
  const bytes = Object.entries(modules).map(([name, text]) => [name, Buffer.from(text)] as const);
  const pack = packOf(new Map(bytes));
  return {
    chunks: new Map([[pack.name, pack.bytes]]),
    launcher: { name: "start.cjs", text: LAUNCHER.replace('"PACK"', `"${pack.name}"`) },
  };
}

async function installed() {
  const folder = await mkdtempDisposable(join(tmpdir(), "trunkline launcher #%-"));
  const { path } = folder;
  await installBuild(path, build());
  const start = async (env: NodeJS.ProcessEnv, program = join(path, "start.cjs")) => {
    const child = promisify(execFile)(process.execPath, [program], { env });
    child.child.stdin?.end("go on\n");
    const { stdout, stderr } = await child;
    assert.equal(stderr, "");
    return stdout.trim().split("\n");
  };
  return { path, start, [Symbol.asyncDispose]: () => folder.remove() };
}

for (const version of ["12.22.12", "20.20.2", "26.0.9"]) {
  test(`launcher has Node ${version} search for a newer one`, async () => {
    const { promise, resolve } = Promise.withResolvers<unknown[]>();
    const process = { versions: { node: version }, argv: ["node", "/opt/trunkline.js", "mcp"] };
    const imported = async (file: string): Promise<object> => {
      assert.equal(file, "./newer-node.mjs");
      return { startWithNewerNode: (...args: unknown[]) => resolve(args) };
    };
    // A script in a context of its own cannot import.
    runInNewContext(LAUNCHER.replaceAll("import(", "imported("), { process, imported });
    const [program, args] = await promise;
    assert.equal(program, "/opt/trunkline.js");
    assert.deepEqual(Array.from(args as string[]), ["mcp"]);
  });
}

test("launcher keeps compiled code in a folder of the user's own", async () => {
  await using program = await installed();
  const cache = join(program.path, "cache");
  const [folder = "", answer] = await program.start({ XDG_CACHE_HOME: cache });
  assert.ok(folder.startsWith(join(cache, "trunkline/compile")), folder);
  assert.equal(answer, "loaded");
  assert.equal((await stat(join(cache, "trunkline"))).mode & 0o777, 0o700);
  assert.equal((await stat(join(cache, "trunkline/compile"))).mode & 0o777, 0o700);
  // One for each module.
  assert.equal((await readdir(folder)).length, 3);
  const home = join(program.path, "home");
  const [inHome = ""] = await program.start({ HOME: home });
  assert.ok(inHome.startsWith(join(home, ".cache/trunkline/compile")), inHome);
});

test("launcher uses no cache that others can write to", async () => {
  await using program = await installed();
  const folder = join(program.path, "trunkline");
  await mkdir(folder);
  await chmod(folder, 0o777);
  assert.deepEqual(await program.start({ XDG_CACHE_HOME: program.path }), ["none", "loaded"]);
  assert.deepEqual(await readdir(folder, { recursive: true }), ["compile"]);
});

test("launcher starts without a cache where none can be made", async () => {
  await using program = await installed();
  assert.deepEqual(await program.start({ HOME: "/dev/null" }), ["none", "loaded"]);
});

test("launcher leaves nothing in a cache on a full disk", async (test) => {
  const { missing } = SmallDisk;
  if (missing !== undefined) return test.skip(missing);
  await using program = await installed();
  using disk = new SmallDisk("1m");
  const script = `cd "$1"; cat /dev/zero > ballast 2>&-; echo | XDG_CACHE_HOME=$1 "$2" "$3"; find . -type f`;
  const args = ["sh", "-c", script, "sh", disk.path, process.execPath];
  const start = join(program.path, "start.cjs");
  const { stdout } = await promisify(execFile)("env", [...disk.within, ...args, start], {
    env: { PATH: process.env.PATH },
  });
  assert.equal(stdout, "none\nloaded\n./ballast\n");
});

test("launcher finds its modules when it is started through a link", async () => {
  await using program = await installed();
  const link = join(program.path, "bin", "trunkline");
  await mkdir(dirname(link));
  await symlink(join(program.path, "start.cjs"), link);
  const env = { XDG_CACHE_HOME: join(program.path, "cache") };
  assert.equal((await program.start(env, link))[1], "loaded");
});

test("launcher finds what it loads later, whatever has become of its folder", async () => {
  const fates: readonly ((path: string) => Promise<unknown>)[] = [
    (path) => rm(path, { recursive: true }),
    (path) => rename(path, `${path}.old`).then(() => writeFile(path, "garbage")),
    async (path) => {
      await rm(path, { recursive: true });
      await installBuild(path, build("another"));
    },
    (path) => installBuild(path, build("another")),
  ];
  for (const befall of fates) {
    await using program = await installed();
    const package_ = join(program.path, "package");
    await installBuild(package_, build());
    const env = { XDG_CACHE_HOME: join(program.path, "cache") };
    const child = spawn(process.execPath, [join(package_, "start.cjs")], { env });
    let said = "";
    child.stderr.on("data", (text: Buffer) => (said += text.toString()));
    child.stdout.on("data", (text: Buffer) => (said += text.toString()));
    await once(child.stdout, "data");
    await befall(package_);
    child.stdin.write("go on\n");
    assert.deepEqual(await once(child, "close"), [0, null], said);
    assert.match(said, /\nloaded\n$/);
  }
});
