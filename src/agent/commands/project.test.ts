import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { Journal } from "../files/journal.ts";
import { TurnFiles } from "../files/turn-files.ts";
import { Workspace } from "../files/workspace.ts";
import { readProject } from "./project-commands.ts";

async function projectWith(files: Record<string, string>) {
  await using rig = new AgentRig({ files });
  const journal = new Journal(rig.data, "s").begin();
  const client = () => ({ notices: false, compaction: false });
  return await readProject(new TurnFiles({ workspace: new Workspace(rig.cwd), client, journal }));
}

describe("readProject()", () => {
  it("finds nothing if no file says anything", async () => {
    assert.deepEqual(await projectWith({}), { kinds: [] });
  });

  it("uses the scripts in package.json, but not npm's placeholder script", async () => {
    const scripts = { test: 'echo "Error: no test specified" && exit 1', fmt: "x", check: "y" };
    assert.deepEqual(await projectWith({ "package.json": JSON.stringify({ scripts }) }), {
      kinds: ["Node.js"],
      format: "npm run fmt",
      lint: "npm run check",
    });
    for (const broken of ["{", "{}", '{"scripts":{"test":7}}']) {
      assert.deepEqual(await projectWith({ "package.json": broken }), { kinds: ["Node.js"] });
    }
  });

  it("takes each command from the first file that has it", async () => {
    const project = await projectWith({
      "package.json": '{"scripts":{"test":"node --test"}}',
      Makefile: "check: all\n\tx\nfmt:\n\ty\nlint := no target\n",
      "pyproject.toml": "[tool.ruff.lint]\n",
    });
    assert.deepEqual(project.kinds, ["Node.js", "Python", "make"]);
    assert.deepEqual(
      [project.test, project.format, project.lint, project.build],
      ["npm test", "ruff format .", "ruff check .", undefined],
    );
  });

  it("knows the test commands of Rust and Go", async () => {
    assert.equal((await projectWith({ "Cargo.toml": "" })).test, "cargo test");
    assert.equal((await projectWith({ "go.mod": "" })).lint, "go vet ./...");
    assert.equal((await projectWith({ "pyproject.toml": "[tool.black]\n" })).format, "black .");
  });
});
