import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { AgentFiles } from "./agent-files.ts";

const ID = "0f0f0f0f-1111-4222-8333-444444444444";

async function put(path: string, text: string): Promise<void> {
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, text);
}

describe("the file of an agent's session", () => {
  it("goes along without anything else of the agent, to where the agent looks for it", async () => {
    await using folder = await SampleFolder.create();
    const [here, there] = [join(folder.path, "here"), join(folder.path, "there")];
    const claude = { command: "npx", args: ["claude-agent-acp"] };
    await put(join(here, ".claude/projects/-old", `${ID}.jsonl`), "1\n");
    await put(join(here, ".claude/projects/-old", "other.jsonl"), "2\n");
    await put(join(here, ".claude/.credentials.json"), "secret");
    const files = await new AgentFiles(claude, ID, { HOME: here }).read();
    assert.deepEqual([...files.keys()], [`agent/${ID}.jsonl`]);
    const target = new AgentFiles(claude, ID, { HOME: there });
    assert.equal(await target.put(files, "/new/pl.ace"), true);
    const path = join(there, ".claude/projects/-new-pl-ace", `${ID}.jsonl`);
    assert.equal(await readFile(path, "utf8"), "1\n");
    const later = new Map([[`agent/${ID}.jsonl`, Buffer.from("1\n2\n")]]);
    assert.equal(await target.put(later, "/new/pl.ace"), true);
    // Not what it has said here already.
    assert.equal(await target.put(files, "/new/pl.ace"), false);
    assert.equal(await readFile(path, "utf8"), "1\n2\n");
  });

  it("is that of a day for codex", async () => {
    await using folder = await SampleFolder.create();
    const name = `rollout-2026-11-19T01-02-03-${ID}.jsonl`;
    await put(join(folder.path, "a/sessions/2026/11/19", name), "1\n");
    const codex = { command: "codex-acp", env: { CODEX_HOME: join(folder.path, "a") } };
    const files = await new AgentFiles(codex, ID, {}).read();
    const other = new AgentFiles({ ...codex, env: { CODEX_HOME: join(folder.path, "b") } }, ID, {});
    assert.equal(await other.put(files, "/x"), true);
    const path = join(folder.path, "b/sessions/2026/11/19", name);
    assert.equal(await readFile(path, "utf8"), "1\n");
  });

  it("is no pipe and no link, whoever has put it there", async () => {
    await using folder = await SampleFolder.create();
    const claude = new AgentFiles({ command: "claude" }, ID, { HOME: folder.path });
    const files = new Map([[`agent/${ID}.jsonl`, Buffer.from("1\n")]]);
    const [projects, secret] = [".claude/projects", "secret"].map((at) => join(folder.path, at));
    const target = join(projects ?? "", "-x", `${ID}.jsonl`);
    await put(secret ?? "", "");
    await put(join(projects ?? "", "-x", "other"), "");
    for (const make of ["mkfifo", "ln -s ../../../secret", "ln -s ../../../new"]) {
      execFileSync("sh", ["-c", `${make} ${ID}.jsonl`], { cwd: dirname(target) });
      assert.deepEqual([...(await claude.read())], [], make);
      assert.equal(await claude.put(files, "/x"), false, make);
      await rm(target);
    }
    await symlink(folder.path, join(projects ?? "", "-y"));
    assert.equal(await claude.put(files, "/y"), false);
    assert.deepEqual(await readdir(folder.path), [".claude", "secret"]);
    assert.equal(await readFile(secret ?? "", "utf8"), "");
  });

  it("is none of another session, of another agent, or with an id that is a path", async () => {
    await using folder = await SampleFolder.create();
    const env = { HOME: folder.path };
    const files = new Map([[`agent/${ID}.jsonl`, Buffer.from("1\n")]]);
    for (const [command, id] of [
      ["claude", "11111111-1111-4222-8333-444444444444"],
      ["goose", ID],
      ["claude", "../../../x"],
      ["claude", "--resume-it"],
      ["claude", ".*"],
      ["claude", undefined],
    ] as const) {
      assert.equal(await new AgentFiles({ command }, id, env).put(files, "/x"), false, command);
      assert.deepEqual([...(await new AgentFiles({ command }, id, env).read())], []);
    }
  });
});
