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
import { launcherText } from "./launcher-text.ts";
import { packOf } from "./pack.ts";

const LAUNCHER = await readFile(new URL("launcher.js", import.meta.url), "utf8");

/** A program that says which compile cache it runs with. */
const MAIN = `import { getCompileCacheDir } from "node:module";
console.log(getCompileCacheDir() ?? "none");
`;

/** A command that needs another script, which needs a module. */
const SCRIPT = `(function (module, require) {
const { answer } = require("./later.cjs");
console.log(answer(), require("./later.cjs").answer === answer);
})`;
const LATER = `(function (module, require) {
module.exports = { answer: () => require("./main.mjs").default };
})`;

/** A build whose command and modules these are. */
function build(script = SCRIPT, later = LATER): Build {
  const main = `${MAIN}export default "loaded";\n`;
  const pack = packOf(new Map(Object.entries({ "main.mjs": main, "later.cjs": later })));
  const starts = new Map(["mcp", "review add"].map((command) => [command, "start-mcp.cjs"]));
  const text = launcherText(LAUNCHER, pack, { main: "main.mjs", starts });
  return {
    chunks: new Map<string, Uint8Array | string>([
      ["start-mcp.cjs", script],
      [pack.name, pack.bytes],
    ]),
    launcher: { name: "start.mjs", text },
  };
}

async function installed(made = build()) {
  const folder = await mkdtempDisposable(join(tmpdir(), "trunkline launcher #%-"));
  const { path } = folder;
  await installBuild(path, made);
  const start = async (env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> => {
    const run = promisify(execFile);
    const { stdout, stderr } = await run(process.execPath, [join(path, "start.mjs"), ...args], {
      env,
    });
    assert.equal(stderr, "");
    return stdout.trim();
  };
  const code = join(path, `cache/trunkline/code/start-mcp.cjs.${process.version}-${process.arch}`);
  return { path, start, code, [Symbol.asyncDispose]: () => folder.remove() };
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
  await program.start({ XDG_CACHE_HOME: program.path }, "mcp");
  assert.deepEqual(await readdir(folder, { recursive: true }), ["code", "compile"]);
});

test("launcher starts without a cache where none can be made", async () => {
  await using program = await installed();
  assert.equal(await program.start({ HOME: "/dev/null" }), "none");
  assert.match(await program.start({ HOME: "/dev/null" }, "mcp"), /loaded true$/);
});

test("launcher leaves nothing in a cache on a full disk", async (test) => {
  const { missing } = SmallDisk;
  if (missing !== undefined) return test.skip(missing);
  await using program = await installed();
  using disk = new SmallDisk("1m");
  const script = `cd "$1"; cat /dev/zero > ballast 2>&-; XDG_CACHE_HOME=$1 "$2" "$3" mcp; find . -type f`;
  const args = ["sh", "-c", script, "sh", disk.path, process.execPath];
  const run = promisify(execFile);
  const start = join(program.path, "start.mjs");
  const { stdout } = await run("env", [...disk.within, ...args, start], {
    env: { PATH: process.env.PATH },
  });
  assert.equal(stdout, "none\nloaded true\n./ballast\n");
});

test("launcher runs a command's script, and what that loads, with caches for each", async () => {
  await using program = await installed();
  const cache = join(program.path, "cache");
  for (const words of [["mcp"], ["--mode=mcp"], ["review", "add", "--line", "1"]]) {
    const said = await program.start({ XDG_CACHE_HOME: cache }, ...words);
    const [folder = "", answer] = said.split("\n");
    assert.ok(folder.startsWith(join(cache, "trunkline/compile")), folder);
    assert.equal(answer, "loaded true");
  }
  const files = await readdir(join(cache, "trunkline/code"));
  assert.deepEqual(files.map((name) => name.replace(/\.v.*/, "")).toSorted(), [
    "later.cjs",
    "start-mcp.cjs",
  ]);
  assert.equal((await stat(program.code)).mode & 0o777, 0o600);
  assert.doesNotMatch(await program.start({ XDG_CACHE_HOME: cache }, "review", "list"), /loaded/);
});

test("launcher finds its scripts when it is started through a link", async () => {
  await using program = await installed();
  const link = join(program.path, "bin", "trunkline");
  await mkdir(dirname(link));
  await symlink(join(program.path, "start.mjs"), link);
  const env = { XDG_CACHE_HOME: join(program.path, "cache") };
  const { stdout } = await promisify(execFile)(process.execPath, [link, "mcp"], { env });
  assert.match(stdout, /loaded true\n$/);
});

/** Says that it runs, and loads more with each line that it reads. */
const LATE = `(function (module, require) {
console.log("started");
process.stdin.once("data", () => {
  console.log(require("./later.cjs").answer());
  process.stdin.destroy();
});
})`;

test("launcher finds what it loads later, whatever has become of its folder", async () => {
  const fates: readonly ((path: string) => Promise<unknown>)[] = [
    (path) => rm(path, { recursive: true }),
    (path) => rename(path, `${path}.old`).then(() => writeFile(path, "garbage")),
    async (path) => {
      await rm(path, { recursive: true });
      await installBuild(path, build("(function () { another(); })", "another"));
    },
    (path) => installBuild(path, build("(function () { another(); })", "another")),
  ];
  for (const befall of fates) {
    await using program = await installed(build(LATE));
    const package_ = join(program.path, "package");
    await installBuild(package_, build(LATE));
    const env = { XDG_CACHE_HOME: join(program.path, "cache") };
    const child = spawn(process.execPath, [join(package_, "start.mjs"), "mcp"], { env });
    let said = "";
    child.stderr.on("data", (text: Buffer) => (said += text.toString()));
    child.stdout.on("data", (text: Buffer) => (said += text.toString()));
    await once(child.stdout, "data");
    await befall(package_);
    child.stdin.write("go on\n");
    assert.deepEqual(await once(child, "close"), [0, null], said);
    assert.match(said, /^started\n.*\nloaded\n$/);
  }
});

test("launcher says so when the file that it reads from was written over", async () => {
  await using program = await installed(build(LATE));
  const name = [...build(LATE).chunks.keys()].find((file) => file.endsWith(".pack")) ?? "";
  const child = spawn(process.execPath, [join(program.path, "start.mjs"), "mcp"], {
    env: { XDG_CACHE_HOME: join(program.path, "cache") },
  });
  let said = "";
  child.stderr.on("data", (text: Buffer) => (said += text.toString()));
  await once(child.stdout, "data");
  await writeFile(join(program.path, name), "x".repeat(10_000));
  child.stdin.write("go on\n");
  assert.deepEqual(await once(child, "close"), [1, null]);
  assert.match(said, /Cannot load 'index': .*\.pack was written over .* Start it again\./);
});

test("launcher completes the code of a script over eight starts", async () => {
  await using program = await installed();
  const counts: (number | undefined)[] = [];
  for (let start = 0; start < 10; start++) {
    await program.start({ XDG_CACHE_HOME: join(program.path, "cache") }, "mcp");
    counts.push((await readFile(program.code)).at(-1));
  }
  assert.deepEqual(counts, [1, 2, 3, 4, 5, 6, 7, 8, 8, 8]);
});

test("launcher does not run code that is not as it was written", async () => {
  await using program = await installed();
  const start = () => program.start({ XDG_CACHE_HOME: join(program.path, "cache") }, "mcp");
  await start();
  await start();
  const good = await readFile(program.code);
  const wrong: Uint8Array[] = [good.subarray(0, good.length / 2), good.subarray(1)];
  wrong.push(Buffer.of(), Buffer.alloc(9));
  for (let at = 0; at < good.length - 1; at += Math.ceil(good.length / 20)) {
    wrong.push(good.with(at, 255 - (good[at] ?? 0)));
  }
  for (const bytes of wrong) {
    await writeFile(program.code, bytes);
    assert.match(await start(), /loaded true$/);
    // As after a first start.
    assert.equal((await readFile(program.code)).at(-1), 1);
  }
});

test("launcher uses the code that came with the package at its first start", async () => {
  await using program = await installed();
  const start = (cache: string) =>
    program.start({ XDG_CACHE_HOME: join(program.path, cache) }, "mcp");
  await start("cache");
  const code = await readFile(program.code);
  const [name = ""] = (await readdir(dirname(program.code))).filter((file) =>
    file.startsWith("start"),
  );
  const kept = (cache: string) => readdir(join(program.path, cache, "trunkline/code"));
  // As the build marks it: it is complete.
  await writeFile(join(program.path, name), code.with(code.length - 1, 255));
  assert.match(await start("first"), /loaded true$/);
  assert.ok(!(await kept("first")).includes(name), "nothing was left to compile");
  await writeFile(join(program.path, name), code.subarray(2));
  assert.match(await start("second"), /loaded true$/);
  assert.ok((await kept("second")).includes(name), "what is not whole is not used");
});
