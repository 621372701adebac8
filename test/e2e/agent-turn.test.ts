import assert from "node:assert/strict";
import { existsSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";

import { AgentEditor, KEY, NO_SANDBOX } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import type { Json, Message } from "../support/acp-app.ts";

const DONE: Scripted = { content: "Done." };

const call = (name: string, args: object = {}): Scripted => ({
  toolCalls: [{ name, arguments: args }],
});

const WRITE = call("write_file", { path: "new.txt", content: "new\n" });

describe("trunkline acp with a model", { timeout: 600_000 }, () => {
  // For the tests that need no program of their own.
  let llm: FakeLlm;
  let editor: AgentEditor;
  before(async () => {
    const work = { provider: "github", user: "ada", email: "ada@acme.test" };
    llm = await FakeLlm.start([]);
    editor = await AgentEditor.open({ llm, config: { identities: { work } } });
  });
  after(async () => {
    await editor[Symbol.asyncDispose]();
    await llm[Symbol.asyncDispose]();
  });

  it("shows thoughts, a plan, diffs and usage, asks for permission, and never reveals the key", async () => {
    const entries = [{ content: "Change it", priority: "high", status: "in_progress" }];
    llm.play([
      { ...call("update_plan", { entries }), reasoning: "Let me see." },
      call("read_file", { path: "a.txt" }),
      call("edit_file", { path: "a.txt", old_string: "one", new_string: "two" }),
      call("run_command", { command: "cat a.txt; env" }),
      { content: "It is two now.", usage: { prompt_tokens: 30, completion_tokens: 5 } },
    ]);
    const id = await editor.another({ "a.txt": "one\n" });
    const { stopReason, text, updates, calls } = await editor.say(id, "Make it two");
    assert.equal(stopReason, "end_turn");
    assert.ok(text.endsWith("It is two now."), text);
    assert.equal(editor.read("a.txt"), "two\n");
    assert.deepEqual(calls.slice(1), [
      "read Read a.txt: completed",
      "edit Edit a.txt: completed",
      "execute cat a.txt; env: completed",
    ]);
    const kinds = new Set(updates.map(({ sessionUpdate }) => sessionUpdate));
    for (const kind of ["agent_thought_chunk", "plan", "usage_update"]) {
      assert.ok(kinds.has(kind), `no ${kind}`);
    }
    const [edit, command] = editor.asked.map(({ params }) => params.toolCall);
    const [diff] = edit.content.filter(({ type }: Json) => type === "diff");
    assert.deepEqual([diff.oldText, diff.newText], ["one\n", "two\n"]);
    assert.equal(command.title, `${NO_SANDBOX}cat a.txt; env`);
    assert.match(llm.seen(4), /tool: two/);
    const all = [editor.program.stderr, llm.seen(), ...editor.program.lines].join("\n");
    assert.ok(!all.includes(KEY));
  });

  it("uses the editor's files and terminal if it has them: unsaved text is used, a terminal released", async () => {
    const edit = { path: "a.txt", old_string: "unsaved", new_string: "changed" };
    await using llm = await FakeLlm.start([call("edit_file", edit), DONE]);
    await using editor = await AgentEditor.open({
      llm,
      files: { "a.txt": "saved\n" },
      capabilities: { fs: { readTextFile: true, writeTextFile: true }, terminal: true },
      // A terminal is outside of the sandbox.
      config: { agent: { sandbox: "off" } },
    });
    const path = join(editor.cwd, "a.txt");
    editor.buffers.set(path, "unsaved\n");
    const changed = await editor.say(editor.id, "Change it");
    assert.deepEqual(changed.calls, ["edit Edit a.txt: completed"]);
    assert.equal(editor.buffers.get(path), "changed\n");
    assert.equal(editor.read("a.txt"), "saved\n", "the editor saves, and nobody else");
    await editor.say(editor.id, "/undo");
    assert.equal(editor.buffers.get(path), "unsaved\n");
    llm.play([call("run_command", { command: "make" }), DONE]);
    const { calls, updates } = await editor.say(editor.id, "Build it");
    assert.deepEqual(calls, ["execute make: completed"]);
    assert.match(llm.seen(1), /tool: said in the terminal/);
    const shown = updates.flatMap(({ content }) => (Array.isArray(content) ? content : []));
    assert.ok(shown.some(({ type, terminalId }) => type === "terminal" && terminalId === "t1"));
    assert.equal(editor.asked.at(-1)?.method, "terminal/release");
  });

  it("uses Anthropic with its key alone", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi from there." }]);
    const env = { ANTHROPIC_API_KEY: KEY, ANTHROPIC_BASE_URL: `${llm.url}/v1` };
    await using editor = await AgentEditor.open({ env });
    assert.equal((await editor.say(editor.id, "Hi")).text, "Hi from there.");
  });

  it("refuses paths that lead out of the workspace with -31701", async () => {
    llm.play([
      call("read_file", { path: "../secret" }),
      call("write_file", { path: "link/x", content: "x" }),
      call("write_file", { path: "/etc/x", content: "x" }),
      DONE,
    ]);
    const id = await editor.another();
    symlinkSync("/tmp", join(editor.cwd, "link"));
    const { updates, calls } = await editor.say(id, "go");
    assert.ok(
      calls.every((each) => each.endsWith(": failed")),
      calls.join(),
    );
    const codes = updates.flatMap(({ rawOutput }) => rawOutput?.error?.code ?? []);
    assert.deepEqual(codes, [-31701, -31701, -31701]);
    assert.equal(editor.asked.length, 0);
  });

  it("cannot write in the mode architect, nor write or run in the mode ask", async () => {
    const run = call("run_command", { command: "echo ran > ran.txt" });
    llm.play([WRITE, DONE, WRITE, run, DONE, WRITE, DONE]);
    const id = await editor.another();
    await editor.ask("session/set_mode", { sessionId: id, modeId: "architect" });
    const planned = await editor.say(id, "go");
    assert.match(planned.calls.join(), /new\.txt: failed/);
    assert.ok(llm.tools.includes("run_command") && !llm.tools.includes("write_file"));
    const wish = { sessionId: id, configId: "mode", value: "ask" };
    await editor.ask("session/set_config_option", wish);
    assert.equal(
      (await editor.say(id, "go")).calls.filter((it) => it.endsWith("failed")).length,
      2,
    );
    assert.ok(llm.tools.includes("run_command"), "the list of tools stays, for the cache");
    assert.equal(existsSync(join(editor.cwd, "new.txt")), false);
    assert.equal(existsSync(join(editor.cwd, "ran.txt")), false);
    await editor.ask("session/set_mode", { sessionId: id, modeId: "build" });
    await editor.say(id, "go");
    assert.equal(editor.read("new.txt"), "new\n");
  });

  it("lists real models, changes them in both ways, and explains an unknown one", async () => {
    await using llm = await FakeLlm.start([DONE]);
    const work = { baseUrl: `${llm.url}/v1`, models: ["small", "large"], keyVariable: "WORK_KEY" };
    const models = { providers: { work }, default: "work/small" };
    await using editor = new AgentEditor({ config: { models }, env: { WORK_KEY: KEY } });
    const { sessionId, models: offered } = await editor.begin();
    assert.equal(offered.currentModelId, "work/small");
    const ids = offered.availableModels.map(({ modelId }: Json) => modelId);
    assert.ok(ids.includes("work/large") && ids.at(-1) === "offline", ids.join());
    await editor.ask("session/set_model", { sessionId, modelId: "work/large" });
    await editor.say(String(sessionId), "go");
    assert.equal((llm.requests.at(-1) as Json).model, "large");
    const option = { sessionId, configId: "model", value: "offline" };
    const { configOptions } = await editor.ask("session/set_config_option", option);
    const chosen = configOptions.find(({ id }: Json) => id === "model");
    assert.equal(chosen.currentValue, "offline");
    assert.match((await editor.say(String(sessionId), "go")).text, /without a language model/);
    const wrong = editor.ask("session/set_model", { sessionId, modelId: "work/larg" });
    await assert.rejects(wrong, /work\/large/);
  });

  it("includes prompts that steer, and queues those that wait", async () => {
    const run = call("run_command", { command: "true" });
    llm.play([WRITE, run, { content: "One." }, { content: "Two." }]);
    const id = await editor.another();
    editor.decide = () => undefined;
    const allow = async (title: string): Promise<void> => {
      const isIt = ({ params }: Message): boolean => params?.toolCall?.title === title;
      const asked = await editor.find(isIt);
      const outcome = { outcome: "selected", optionId: asked.params.options[0].optionId };
      editor.program.write({ jsonrpc: "2.0", id: asked.id, result: { outcome } });
    };
    const first = editor.prompt(id, "first");
    await editor.find(({ method }) => method === "session/request_permission");
    await assert.rejects(editor.answerTo(editor.prompt(id, "refused")), { code: -31902 });
    const wish = (whileRunning: string) => ({ _meta: { trunkline: { whileRunning } } });
    const steered = editor.prompt(id, "steered", wish("steer"));
    const queued = editor.prompt(id, "queued", wish("queue"));
    await allow("Create new.txt");
    await allow(`${NO_SANDBOX}true`);
    for (const each of [first, steered, queued]) await editor.answerTo(each);
    assert.match(llm.seen(2), /user: .*steered/);
    assert.doesNotMatch(llm.seen(2), /queued/);
    assert.match(llm.seen(3), /user: .*queued/);
  });

  it("remembers what is always allowed in this workspace, also after it was killed", async () => {
    llm.play([WRITE, DONE, call("read_file", { path: "new.txt" }), WRITE, DONE]);
    const id = await editor.another();
    const { cwd } = editor;
    editor.decide = () => "allow_always";
    await editor.say(id, "go");
    editor.write("new.txt", "old\n");
    await editor.killed();
    await editor.ask("session/load", { sessionId: id, cwd, mcpServers: [] });
    await editor.say(id, "again");
    assert.equal(editor.read("new.txt"), "new\n");
    assert.equal(editor.asked.length, 1);
    assert.match(llm.seen(2), /user: .*go/, "the model knows what was said before");
  });

  it("offers the model the toolbox, whose calls are recorded", async () => {
    const more = call("more_tools", { groups: ["identities", "reviews"] });
    await using llm = await FakeLlm.start([more, call("juggler_list_identities"), DONE]);
    await using editor = await AgentEditor.open({ llm });
    const { calls } = await editor.say(editor.id, "Who am I?");
    assert.match(calls.join(), /: completed.*: completed/);
    assert.ok(!JSON.stringify(llm.requests[0]?.tools).includes("review_list"));
    assert.ok(llm.tools.includes("review_list"));
    editor.program.child.stdin.end();
    await editor.program.exit;
    const audit = readFileSync(join(editor.data, "audit/audit.ndjson"), "utf8");
    assert.match(audit, /"juggler_list_identities"/);
  });

  it("lets the toolbox work in the session's folder, and not in its own", async () => {
    const switching = call("juggler_switch", { identity: "work" });
    llm.play([switching, DONE]);
    const id = await editor.another();
    editor.git("init", "-q");
    await editor.say(id, "Be the one who works");
    assert.match(llm.seen(1), new RegExp(`Repository: ${editor.cwd}`));
    assert.match(editor.git("config", "--local", "user.email"), /^ada@acme\.test$/m);
  });
});
