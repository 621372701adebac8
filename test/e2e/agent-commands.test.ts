// Long: a program for each command.
import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AgentEditor, NO_SANDBOX, type SeenTurn } from "../agent/agent-editor.ts";
import { Program } from "../support/program.ts";
import { runInProcess } from "../support/run-in-process.ts";

describe("trunkline acp without a key and without a network", { timeout: 600_000 }, () => {
  // For the tests that need no program of their own.
  let editor: AgentEditor;
  before(async () => {
    editor = await AgentEditor.open();
  });
  after(() => editor[Symbol.asyncDispose]());

  it("offers the offline entry, says what it is, and explains unknown commands", async () => {
    await using editor = new AgentEditor();
    const created = await editor.begin();
    const id = String(created.sessionId);
    assert.equal(created.models.currentModelId, "offline");
    assert.equal(created.models.availableModels[0].name, "Offline (no LLM)");
    const { update } = (await editor.find(({ method }) => method === "session/update")).params;
    assert.equal(update.sessionUpdate, "available_commands_update");
    const names = update.availableCommands.map(({ name }: { name: string }) => name);
    const all = [
      "help search diff review fix-comments test format commit undo init background",
      "redo remember memory mode model compact pause continue",
    ];
    assert.deepEqual(names.toSorted(), all.join(" ").split(" ").toSorted());
    assert.match((await editor.say(id, "make it better")).text, /without a language model/);
    assert.match((await editor.say(id, "/help")).text, /`\/fix-comments/);
    const unknown = await editor.say(id, "/serch x");
    assert.equal(unknown.stopReason, "end_turn");
    assert.match(unknown.text, /no command `\/serch`. Did you mean `\/search`/);
  });

  it("searches, reviews, formats, tests, shows, commits and undoes", async () => {
    const scripts = { test: "echo tested", format: "echo ' formatted' >> a.txt" };
    const files = { "a.txt": "needle\n", "package.json": JSON.stringify({ scripts }) };
    const id = await editor.another(files);
    editor.commitAll();
    const found = await editor.say(id, "/search needle");
    assert.match(found.text, /a\.txt:1: needle/);
    assert.deepEqual(found.calls, ["search Search for needle: completed"]);
    assert.match((await editor.say(id, "/init")).text, /AGENTS\.md/);
    assert.match(editor.read("AGENTS.md"), /Test: `npm test`/);
    editor.write("b.ts", "debugger;\n");
    assert.match((await editor.say(id, "/review")).text, /b\.ts:1: debugging code/);
    const tested = await editor.say(id, "/test");
    assert.deepEqual(tested.calls, ["execute npm test: completed"]);
    const asked = editor.asked.at(-1)?.params.toolCall.title;
    assert.equal(asked, `${NO_SANDBOX}npm test`, "all of the command");
    await editor.say(id, "/format");
    assert.equal(editor.read("a.txt"), "needle\n formatted\n");
    const diff = diffsIn(await editor.say(id, "/diff")).find(({ path }) => path.endsWith("a.txt"));
    assert.equal(diff?.newText, "needle\n formatted\n");
    await editor.say(id, "/undo");
    assert.equal(editor.read("a.txt"), "needle\n");
    assert.match((await editor.say(id, "/commit Say what it is")).text, /Say what it is/);
    assert.equal(editor.git("log", "-1", "--format=%s"), "Say what it is\n");
    assert.equal(editor.git("status", "--short"), "");
  });

  it("undoes after it was killed, to the byte, and deletes everything of a deleted session", async () => {
    const old = "\ufeffone\r\ntwo";
    await using editor = await AgentEditor.open({ files: { "a.txt": old } });
    const { id, cwd } = editor;
    const scripts = { format: "printf other > a.txt" };
    editor.write("package.json", JSON.stringify({ scripts }));
    editor.commitAll();
    await editor.say(id, "/format");
    assert.equal(editor.read("a.txt"), "other");
    await editor.killed();
    await editor.ask("session/load", { sessionId: id, cwd, mcpServers: [] });
    await editor.say(id, "/undo");
    assert.equal(editor.read("a.txt"), old);
    await editor.say(id, "/format");
    assert.deepEqual(readdirSync(join(editor.data, "undo")), [id]);
    await editor.ask("session/delete", { sessionId: id });
    assert.deepEqual(readdirSync(join(editor.data, "undo")), []);
  });

  it("applies the suggestion of a review comment that was added in a terminal", async () => {
    const id = await editor.another({ "a.ts": "let a = 1;\n" });
    editor.commitAll();
    const comment = "Use const\n```suggestion\nconst a = 1;\n```";
    const where = ["--file", "a.ts", "--line", "1", "--data", editor.data];
    const args = ["review", "add", ...where, "--comment", comment];
    await using review = new Program(args, { cwd: editor.cwd });
    assert.equal(await review.exit, 0, review.stderr);
    const { text, calls } = await editor.say(id, "/fix-comments");
    assert.equal(editor.read("a.ts"), "const a = 1;\n", text);
    assert.match(calls.join(), /edit .*: completed/);
    const list = await runInProcess(["review", "list", "--json", "--data", editor.data], {
      env: { HOME: editor.folder },
      cwd: editor.cwd,
    });
    assert.equal(list.code, 0, list.err);
    assert.match(list.out, /"state": ?"(?:proposed|answered)"/);
  });

  it("handles lines that are typed ahead in a terminal one after the other", async () => {
    const id = await editor.another({ "a.txt": "needle\n" });
    await editor.ask("session/close", { sessionId: id });
    await using terminal = new Program(["session", "attach", id, "--data", editor.data]);
    terminal.child.stdin.end("/search needle\n/undo\n/nope\n");
    assert.equal(await terminal.exit, 0, terminal.stderr);
    const said = terminal.lines.join("\n");
    assert.match(said, /a\.txt:1: needle[^]*nothing to undo[^]*no command `\/nope`/);
  });

  it("writes nothing if a person or the mode does not allow it", async () => {
    const id = await editor.another({ "package.json": "{}" });
    editor.decide = () => "reject_once";
    assert.match((await editor.say(id, "/init")).calls.join(), /failed/);
    editor.decide = () => "allow_once";
    await editor.ask("session/set_mode", { sessionId: id, modeId: "ask" });
    assert.match((await editor.say(id, "/init")).text, /cannot be used in the mode 'Ask'/);
    assert.equal(existsSync(join(editor.cwd, "AGENTS.md")), false);
    assert.equal(editor.asked.length, 1);
  });
});

/** The diffs that a turn has shown. */
function diffsIn({ updates }: SeenTurn): { readonly path: string; readonly newText: string }[] {
  return updates
    .flatMap(({ content }) => (Array.isArray(content) ? content : []))
    .filter(({ type }) => type === "diff");
}
