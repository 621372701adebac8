import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { chmodSync, mkdirSync, mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { findNode } from "./newer-node.mjs";

const run = promisify(execFile);
const { PATH = "" } = process.env;
const START = join(import.meta.dirname, "newer-node.mjs");

/** A folder with programs that say a version, and otherwise print their arguments. */
function machine() {
  const folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-nodes-"));
  const at = (...path: string[]): string => join(folder.path, ...path);
  const node = (version: string, ...path: string[]): string => {
    const file = at(...path, "node");
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, `#!/bin/sh\n[ "$1" = --version ] && echo ${version} || echo "$0" "$@"\n`);
    chmodSync(file, 0o755);
    return file;
  };
  return { at, node, env: { HOME: folder.path }, [Symbol.dispose]: () => folder.remove() };
}

/** The package's own places would find the Node of this checkout. */
const NOWHERE = "/nowhere/dist";

describe("findNode()", () => {
  it("takes the one that the user names, if it is new enough", () => {
    using here = machine();
    const named = here.node("v26.1.0", "own");
    const other = here.node("v27.0.0", "bin");
    const env = { ...here.env, PATH: dirname(other), TRUNKLINE_NODE: named };
    assert.equal(findNode(NOWHERE, env), named);
    here.node("v26.0.9", "own");
    assert.equal(findNode(NOWHERE, env), other);
  });

  it("searches all of PATH, but no folder that depends on where it was started", () => {
    using here = machine();
    const old = here.node("v20.20.2", "old");
    const good = here.node("v26.10.0", "good");
    const PATH = `:.:relative:${dirname(old)}:${dirname(good)}`;
    assert.equal(findNode(NOWHERE, { ...here.env, PATH }), good);
  });

  it("takes a Node package that is installed beside Trunkline", () => {
    using here = machine();
    const name = `node-${process.platform}-${process.arch}`;
    const node = here.node("v26.2.0", "lib/node_modules", name, "bin");
    const found = findNode(here.at("lib/node_modules/trunkline/dist"), here.env);
    assert.equal(found, process.platform === "linux" ? node : undefined);
  });

  it("takes the package `node` of a checkout", () => {
    using here = machine();
    const node = here.node("v26.2.0", "node_modules/node/bin");
    assert.equal(findNode(here.at("dist"), here.env), node);
  });

  for (const [manager, path] of [
    ["nvm", [".nvm/versions/node/v26.3.0/bin", ".nvm/versions/node/v26.10.0/bin"]],
    ["fnm", [".local/share/fnm/node-versions/v26.10.0/installation/bin"]],
    ["volta", [".volta/tools/image/node/26.10.0/bin"]],
    ["mise", [".local/share/mise/installs/node/26.10.0/bin"]],
    ["asdf", [".asdf/installs/nodejs/26.10.0/bin"]],
  ] as const) {
    it(`finds the newest of ${manager}`, () => {
      using here = machine();
      const nodes = path.map((folder) => here.node("v26.10.0", folder));
      here.node("v20.1.0", ".nvm/versions/node/v20.1.0/bin");
      assert.equal(findNode(NOWHERE, here.env), nodes.at(-1));
    });
  }

  it("finds none on a machine that has only old ones", () => {
    using here = machine();
    const old = here.node("v26.0.0", "bin");
    const broken = here.node("; exit 1", "broken");
    const env = { HOME: here.at("home"), PATH: `${dirname(old)}:${dirname(broken)}` };
    const found = findNode(NOWHERE, env);
    // Homebrew's folders are the machine's own.
    assert.ok(found === undefined || /^\/(?:opt|usr|home)\//.test(found));
  });
});

describe("startWithNewerNode()", () => {
  const starter = `import { startWithNewerNode } from ${JSON.stringify(START)};
startWithNewerNode("/x/trunkline.js", ["mcp", "a b"]);`;

  it("runs the program with the newer Node and the same arguments", async () => {
    using here = machine();
    const TRUNKLINE_NODE = here.node("v26.5.0", "new");
    const args = ["--no-warnings", "--input-type=module", "--eval", starter];
    const { stdout } = await run(process.execPath, args, { env: { TRUNKLINE_NODE } });
    assert.equal(stdout, `${TRUNKLINE_NODE} /x/trunkline.js mcp a b\n`);
  });

  it("says of a Node that the user names that it is none, if there is no other", async (test) => {
    const nowhere = { PATH: "/nowhere", HOME: "/nowhere", TRUNKLINE_NODE: "/nowhere/node" };
    const other = findNode(NOWHERE, nowhere);
    if (other !== undefined) {
      return test.skip(
        `${other} would be started: run this where it is not installed, as in a container`,
      );
    }
    const args = ["--input-type=module", "--eval", starter];
    const failing = run(process.execPath, args, { env: nowhere });
    await assert.rejects(failing, /nor at '\/nowhere\/node', which TRUNKLINE_NODE names\. Install/);
    return undefined;
  });

  it("works with an old Node of this machine, and ends as the program ends", (test) => {
    // npm puts that of this checkout first.
    const nodes = PATH.split(delimiter).map((folder) => join(folder, "node"));
    const old = nodes.find((node) => {
      const { stdout } = spawnSync(node, ["--version"], { encoding: "utf8" });
      return /^v(?:1[2-9]|2[0-5])\./.test(stdout ?? "");
    });
    if (old === undefined) {
      return test.skip("PATH has no Node from 12 to 25: install one, such as the package nodejs");
    }
    using here = machine();
    const TRUNKLINE_NODE = here.node("v26.5.0", "new");
    const text = readFileSync(TRUNKLINE_NODE, "utf8");
    writeFileSync(TRUNKLINE_NODE, text.replace('echo "$0" "$@"', 'exec sh -c "kill -TERM \\$\\$"'));
    const args = ["--input-type=module", "--eval", starter];
    const { signal, status, stderr } = spawnSync(old, args, {
      env: { TRUNKLINE_NODE, PATH },
      encoding: "utf8",
    });
    assert.equal(signal, "SIGTERM", `${status} ${stderr}`);
    return undefined;
  });
});
