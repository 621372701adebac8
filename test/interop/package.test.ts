import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { existsSync, mkdtempDisposableSync, readdirSync, statSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, before, describe, it } from "node:test";
import { promisify } from "node:util";

import packageJson from "../../package.json" with { type: "json" };
import { Packages } from "../support/packages.ts";
import { Program } from "../support/program.ts";

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, "../..");
const MB = 1024 * 1024;
/** A real one, of npm. */
const oldNode = new Packages("test/interop/old-node");

/** The npm of this machine, run by the Node of this checkout. */
function npm(args: readonly string[], env: NodeJS.ProcessEnv = {}, cwd = ROOT) {
  const PATH = `${dirname(process.execPath)}:${process.env.PATH}`;
  // Tests of a plugin would report to the runner of this test instead of printing.
  const { NODE_TEST_CONTEXT: _, ...own } = process.env;
  return run("npm", [...args], { cwd, env: { ...own, ...env, PATH }, maxBuffer: 10 * MB });
}

function sizeOf(folder: string): number {
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" });
  return files.reduce((sum, file) => sum + statSync(join(folder, file)).size, 0);
}

function initialize(id: number) {
  const params = {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "test", version: "1" },
  };
  return { jsonrpc: "2.0", id, method: "initialize", params };
}

describe("the npm package", { timeout: 300_000 }, () => {
  const place = mkdtempDisposableSync(join(tmpdir(), "trunkline-npm-"));
  const prefix = join(place.path, "prefix");
  const installed = join(prefix, "lib/node_modules/trunkline");
  const built = join(installed, "dist/trunkline.js");
  const home = { HOME: place.path, npm_config_cache: join(place.path, "cache") };
  const install = (file: string) =>
    npm(["install", "-g", "--no-audit", "--no-fund", "--prefix", prefix, file], home);
  let file = "";

  before(async () => {
    const { stdout } = await npm(["pack", "--silent", "--pack-destination", place.path]);
    file = join(place.path, stdout.trim().split("\n").at(-1) ?? "");
    await install(file);
  });
  after(() => place.remove());

  it("contains the program, its licenses and its changes, and depends on the keychain only", async () => {
    const names = readdirSync(installed).toSorted();
    assert.deepEqual(
      names.filter((name) => name !== "node_modules"),
      ["CHANGELOG.md", "LICENSE", "README.md", "dist", "package.json"],
    );
    const text = await readFile(join(installed, "package.json"), "utf8");
    const manifest = JSON.parse(text) as typeof packageJson & { dependencies?: object };
    assert.equal(manifest.dependencies, undefined);
    assert.deepEqual(Object.keys(manifest.optionalDependencies), ["@napi-rs/keyring"]);
    assert.ok(sizeOf(installed) < 15 * MB, `${sizeOf(installed) / MB} MB are installed`);
  });

  it("runs by its name: help, doctor, MCP", async () => {
    const program = join(prefix, "bin/trunkline");
    const env = { PATH: `${dirname(process.execPath)}:${process.env.PATH}`, HOME: place.path };
    const { stdout: version } = await run(program, ["--version"], { env });
    assert.equal(version, `trunkline ${packageJson.version}\n`);
    const { stdout: findings } = await run(program, ["doctor", "--deep"], { env });
    assert.match(findings, /^ok {3}trunkline mcp: answers 'initialize'/m);
    assert.doesNotMatch(findings, /^fail/m);
    await using mcp = new Program(["mcp"], { built });
    mcp.write(initialize(1));
    await mcp.answers(1);
    mcp.child.stdin.end();
    assert.equal(await mcp.exit, 0);
  });

  it("is started by npx in one line, as assistants' configurations have it", async () => {
    const child = npm(["exec", "--yes", "--package", file, "--", "trunkline", "mcp"], home);
    child.child.stdin?.end(`${JSON.stringify(initialize(1))}\n`);
    const { stdout } = await child;
    assert.equal(JSON.parse(stdout).result.serverInfo.name, "trunkline");
  });

  it("says on an old Node what to do, or starts with a newer one that it finds", async () => {
    await oldNode.install();
    const old = oldNode.path(`node-${process.platform}-${process.arch}`, "bin/node");
    const env = { PATH: dirname(old), HOME: place.path };
    const found = await run(old, [built, "--version"], {
      env: { ...env, TRUNKLINE_NODE: process.execPath },
    });
    assert.equal(found.stdout, `trunkline ${packageJson.version}\n`);
    await assert.rejects(run(old, [built, "--version"], { env }), {
      code: 1,
      stderr:
        /^Trunkline needs Node 26\.1 or newer; this is Node 20\..* name it in TRUNKLINE_NODE\.\n$/,
    });
    // A plugin that somebody starts by hand.
    const plugin = join(place.path, "plugin.mjs");
    const sdk = JSON.stringify(join(installed, "dist/plugin.mjs"));
    const text = `import { definePlugin } from ${sdk};\ndefinePlugin({ id: "old", version: "1" });\n`;
    await writeFile(plugin, text);
    await assert.rejects(run(old, [plugin, "--manifest"], { env }), {
      code: 1,
      stdout: "",
      stderr: /^This plugin needs Node 26\.1 or later, and \S+ is Node 20\.\S+: .*\n$/,
    });
  });

  it("is replaced by npm under running programs, and none of them notices", async () => {
    await using mcp = new Program(["mcp"], { built });
    await using acp = new Program(["acp"], { built });
    await using serve = new Program(["serve", "--port", "0", "--json"], { built });
    mcp.write(initialize(1));
    acp.write({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } });
    await Promise.all([mcp.answers(1), acp.answers(1), serve.answers(1)]);
    const [{ url, tokenFile } = {}] = await serve.answers(1);
    await install(file);
    assert.ok(existsSync(built));
    mcp.write({ jsonrpc: "2.0", id: 2, method: "tools/list" });
    const name = "juggler_list_identities";
    mcp.write({ jsonrpc: "2.0", id: 3, method: "tools/call", params: { name, arguments: {} } });
    const params = { cwd: place.path, mcpServers: [] };
    acp.write({ jsonrpc: "2.0", id: 2, method: "session/new", params });
    const token = (await readFile(String(tokenFile), "utf8")).trim();
    const headers = { authorization: `Bearer ${token}` };
    assert.equal((await fetch(`${url}/`, { headers })).status, 200);
    const isAnswered = (program: Program, id: number): boolean =>
      program.lines.some((line) => JSON.parse(line).id === id);
    await mcp.until((program) => isAnswered(program, 2) && isAnswered(program, 3));
    await acp.until((program) => isAnswered(program, 2));
    for (const line of [...mcp.lines, ...acp.lines])
      assert.equal(JSON.parse(line).error, undefined);
    for (const program of [mcp, acp]) {
      program.child.stdin.end();
      assert.equal(await program.exit, 0);
    }
    serve.child.kill("SIGTERM");
    assert.equal(await serve.exit, 0);
  });

  it("gives a plugin its SDK", async () => {
    const folder = join(place.path, "greeter");
    const env = { HOME: place.path, PATH: process.env.PATH ?? "" };
    await run(process.execPath, [built, "plugin", "new", "greeter"], { env, cwd: place.path });
    await npm(["install", "--no-audit", "--no-fund"], home, folder);
    const { stdout } = await npm(["test", "--silent"], home, folder);
    assert.match(stdout, /pass [1-9]/);
  });
});
