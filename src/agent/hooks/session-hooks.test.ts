import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig, type AgentRigOptions } from "../../../test/agent/agent-rig.ts";
import { call, read } from "../../../test/agent/call-tools.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { ALLOW, REJECT, type SampleTurn } from "../../../test/agent/sample-turn.ts";
import { processesOf } from "../../../test/support/processes.ts";
import { until } from "../../../test/support/until.ts";
import type { HookEvent, HookSettings } from "../../hooks/hook.ts";
import { type HookRun, hooksFor } from "../../hooks/hooks.ts";
import type { HistoryEntry } from "../../session/agent.ts";
import { Offer } from "../../tool/offer/offer.ts";
import { Policy } from "../../tool/policy.ts";
import { textResult } from "../../tool/tool.ts";
import { historyMessages } from "../turn/history-messages.ts";
import type { HookOpener } from "./session-hooks.ts";

/** The user's own hooks, which are recorded. */
function hooked(user: HookSettings, runs: HookRun[] = []): { readonly hooks: HookOpener } {
  return {
    hooks: async (session) =>
      hooksFor({
        ...session,
        settings: { user, project: {} },
        env: async () => ({ PATH: process.env.PATH }),
        record: (run) => runs.push(run),
      }),
  };
}

function on(event: HookEvent, command: string, matcher = ""): HookSettings {
  return { [event]: [{ matcher, hooks: [{ type: "command", command }] }] };
}

/** A hook that changes a call, or decides about it. */
function says(answer: object, matcher = ""): HookSettings {
  const hookSpecificOutput = { hookEventName: "PreToolUse", ...answer };
  return on("PreToolUse", `printf %s '${JSON.stringify({ hookSpecificOutput })}'`, matcher);
}

function notices(turn: SampleTurn): string {
  return JSON.stringify(turn.ofKind("notice"));
}

/** What the log of the session says of hooks. */
function logged(turn: SampleTurn): { event: string; outcome: string }[] {
  return turn.updates.flatMap(({ _meta }) => {
    const { trunkline } = (_meta ?? {}) as { trunkline?: { hooks?: HookRun[] } };
    return (trunkline?.hooks ?? []).map(({ event, outcome }) => ({ event, outcome }));
  });
}

const run = (command: string) => ({ name: "run_command", arguments: { command } });
const write = (path: string, content: string) => ({
  name: "write_file",
  arguments: { path, content },
});

describe("a hook before a tool call", () => {
  it("sees it as Claude Code would call it", async () => {
    const seen = on("PreToolUse", "cat >> seen", "Bash|Edit|Write|Read|MultiEdit");
    const edit = { name: "edit_file", arguments: { path: "a", old_string: "a", new_string: "b" } };
    const edits = [{ old_string: "b", new_string: "c" }];
    const multi = { name: "multi_edit", arguments: { path: "a", edits } };
    const calls = [
      read("a"),
      edit,
      multi,
      write("b", "B"),
      run("true"),
      { name: "git_status", arguments: {} },
    ];
    await call(calls, {
      ...hooked(seen),
      files: { a: "a" },
      check: (rig, { turn }) => {
        const lines = rig.read("seen").trim().split("\n");
        const told = lines.map((line) => JSON.parse(line) as Record<string, unknown>);
        const file_path = join(rig.cwd, "a");
        assert.deepEqual(
          told.map(({ tool_name, tool_input }) => [tool_name, tool_input]),
          [
            ["Read", { file_path }],
            ["Edit", { file_path, old_string: "a", new_string: "b" }],
            ["MultiEdit", { file_path, edits }],
            ["Write", { file_path: join(rig.cwd, "b"), content: "B" }],
            ["Bash", { command: "true" }],
          ],
        );
        const [first] = told;
        assert.equal(first?.permission_mode, "default");
        assert.equal(first?.cwd, rig.cwd);
        assert.equal(first?.tool_use_id, turn.ofKind("tool_call")[0]?.toolCallId);
      },
    });
  });

  it("denies it: nothing is done or asked, the model is told why, and it is on record", async () => {
    const runs: HookRun[] = [];
    const deny = on("PreToolUse", "echo use the script instead >&2; exit 2", "Bash");
    const { turn, answers } = await call([run("touch made")], {
      ...hooked(deny, runs),
      check: (rig) => assert.ok(!existsSync(join(rig.cwd, "made"))),
    });
    assert.deepEqual(answers, ["A hook does not allow it: use the script instead"]);
    assert.equal(turn.asked.length, 0);
    assert.deepEqual(turn.ends, ["failed"]);
    assert.deepEqual(
      runs.map(({ outcome, reason, tool }) => [outcome, reason, tool]),
      [["denied", "use the script instead", "Bash"]],
    );
    assert.deepEqual(logged(turn), [{ event: "PreToolUse", outcome: "denied" }]);
  });

  it("cannot allow what a person or the policy does not", async () => {
    const allow = says({ permissionDecision: "allow" });
    const { turn, answers } = await call([write("a", "x")], {
      ...hooked(allow),
      turn: { decide: () => REJECT },
    });
    assert.equal(turn.asked.length, 1);
    assert.match(answers[0] ?? "", /did not allow it/);
    assert.deepEqual(turn.ends, ["failed"]);
  });

  it("changes it: the changed call is asked about, done and on record", async () => {
    const change = says({ updatedInput: { command: "echo changed > made" } }, "Bash");
    const { turn } = await call([run("echo first > made")], {
      ...hooked(change),
      check: (rig) => assert.equal(rig.read("made"), "changed\n"),
    });
    assert.deepEqual(
      turn.asked.map(({ toolCall, subject }) => [toolCall.title, subject]),
      [
        [
          "echo changed > made",
          { action: "run", command: "echo changed > made", folder: ".", sandbox: "none" },
        ],
      ],
    );
    assert.equal(
      turn.updates.findLast(({ title }) => title !== undefined)?.title,
      "echo changed > made",
    );
    const inputs = turn.updates.flatMap(({ rawInput }) =>
      rawInput === undefined ? [] : [rawInput],
    );
    assert.deepEqual(inputs, [
      { command: "echo first > made" },
      { command: "echo changed > made" },
    ]);
    assert.deepEqual(logged(turn), [{ event: "PreToolUse", outcome: "changed" }]);
  });

  it("cannot change it into one that does not fit the tool's schema, or leads elsewhere", async () => {
    const unfit = await call([run("true")], {
      ...hooked(says({ updatedInput: { command: 5 } }, "Bash")),
    });
    assert.match(
      unfit.answers[0] ?? "",
      /Invalid arguments for 'run_command' after a hook has changed/,
    );
    assert.equal(unfit.turn.asked.length, 0);
    const outside = await call([write("a", "x")], {
      ...hooked(says({ updatedInput: { file_path: "/etc/made", content: "x" } }, "Write")),
    });
    assert.deepEqual(outside.codes, [-31701]);
    assert.equal(outside.turn.asked.length, 0);
  });

  it("cannot change it into one that the policy denies", async () => {
    const policy = new Policy({
      default: "allow",
      rules: [{ tool: "deploy", arguments: { to: "production" }, decision: "deny" }],
    });
    const offer = new Offer({ policy });
    const called: unknown[] = [];
    const inputSchema = { type: "object", properties: { to: { type: "string" } } };
    const definition = { name: "deploy", inputSchema };
    offer.tools.add({
      definition,
      call: (args) => {
        called.push(args);
        return textResult("Deployed.");
      },
    });
    const { answers } = await call([{ name: "deploy", arguments: { to: "staging" } }], {
      ...hooked(
        says({ permissionDecision: "allow", updatedInput: { to: "production" } }, "deploy"),
      ),
      offer: async () => offer,
    });
    assert.match(answers[0] ?? "", /denied|not allowed|policy/i);
    assert.deepEqual(called, []);
  });

  it("sees each file of a patch as `file_path`, also one that a hook adds to it", async () => {
    const input = (...lines: string[]) => ["*** Begin Patch", ...lines, "*** End Patch"].join("\n");
    const two = input("*** Add File: a", "+A", "*** Update File: b", "*** Move to: .env", "+B");
    const guard = `cat > now; cat now >> seen; grep -q 'file_path":"[^"]*/[.]env"' now && echo no >&2 && exit 2; exit 0`;
    const calls = [{ name: "apply_patch", arguments: { input: two } }];
    const denied = await call(calls, {
      ...hooked(on("PreToolUse", guard, "Edit")),
      files: { b: "" },
      check: (rig) => {
        assert.ok(!existsSync(join(rig.cwd, "a")) && !existsSync(join(rig.cwd, ".env")));
        const told = rig.read("seen").trim().split("\n");
        const paths = told.map((line) => (JSON.parse(line) as { tool_input: object }).tool_input);
        const files = ["a", "b", ".env"].map((name) => join(rig.cwd, name));
        assert.deepEqual(
          paths,
          files.map((file_path) => ({ input: two, file_paths: files, file_path })),
        );
      },
    });
    assert.deepEqual(denied.answers, ["A hook does not allow it: no"]);
    const more = input("*** Add File: a", "+A", "*** Add File: .env", "+B");
    const changing = says({ updatedInput: { input: more } }, "apply_patch").PreToolUse ?? [];
    const guarding = on("PreToolUse", guard, "Edit").PreToolUse ?? [];
    const one = { name: "apply_patch", arguments: { input: input("*** Add File: a", "+A") } };
    const added = await call([one], hooked({ PreToolUse: [...changing, ...guarding] }));
    assert.deepEqual(added.answers, ["A hook does not allow it: no"]);
  });

  it("has a person asked, whom no mode and no rule answers for", async () => {
    const ask = says({ permissionDecision: "ask", permissionDecisionReason: "it is Friday" });
    await using llm = await FakeLlm.start([
      { toolCalls: [read("a"), write("b", "B")] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, ...hooked(ask), files: { a: "A" } });
    const session = await rig.open();
    await session.setMode?.("auto-accept");
    const { turn } = await rig.turnOf(session, {
      prompt: "go",
      decide: ({ toolCall }) => (toolCall.kind === "read" ? REJECT : ALLOW),
    });
    assert.deepEqual(turn.ends, ["failed", "completed"]);
    assert.equal(turn.asked.length, 2);
    assert.equal(turn.accepted.length, 0);
    for (const { _meta, subject, toolCall, options } of turn.asked) {
      assert.deepEqual([_meta, subject], [{ trunkline: { needsPerson: true } }, undefined]);
      assert.match(JSON.stringify(toolCall.content), /it is Friday/);
      assert.ok(options.every(({ kind }) => kind !== "allow_always"));
    }
  });

  it("has a person asked about a tool of a server before the policy is, which may be answered by a rule", async () => {
    const ask = says(
      { permissionDecision: "ask", permissionDecisionReason: "sure?" },
      "mcp__there__go",
    );
    const offer = new Offer();
    const definition = { name: "there_go", inputSchema: { type: "object" } };
    const source = { server: "there", name: "go" };
    offer.tools.add({ definition, source, call: () => textResult("Gone.") });
    const { turn } = await call([{ name: "there_go", arguments: {} }], {
      ...hooked(ask),
      offer: async () => offer,
      turn: { prompt: "use more_tools for there" },
    });
    assert.deepEqual(
      turn.asked.map(({ _meta, subject }) => [_meta !== undefined, subject !== undefined]),
      [
        [true, false],
        [false, true],
      ],
    );
  });

  it("is shown in an update of bounded size, whatever it says", async () => {
    const xs = "head -c 200000 /dev/zero | tr '\\0' x";
    const long = `printf '{"decision":"block","reason":"'; ${xs}; printf '"}'`;
    const { turn, answers } = await call([run("true")], { ...hooked(on("PreToolUse", long)) });
    assert.deepEqual(turn.ends, ["failed"]);
    assert.match(answers[0] ?? "", /^A hook does not allow it: x{10000}$/);
  });

  it("runs for the command lines of slash commands, and cannot change those", async () => {
    const packaged = { "package.json": JSON.stringify({ scripts: { test: "touch made" } }) };
    for (const [settings, words] of [
      [
        on("PreToolUse", "grep -q evil && echo no >&2 && exit 2", "Bash"),
        /A hook does not allow it: no/,
      ],
      [says({ updatedInput: { command: "true" } }, "Bash"), /cannot be changed/],
    ] as const) {
      await using rig = new AgentRig({ ...hooked(settings), files: packaged });
      const { turn } = await rig.turn("/test ; echo evil");
      assert.match(turn.text, words);
      assert.equal(turn.asked.length, 0);
    }
  });

  it("sees a commit as the command line that makes it, which it cannot change", async () => {
    const commit = {
      name: "git_commit",
      arguments: { message: "It's a\nchange", paths: ["a", "b c"] },
    };
    const guard = `cat > seen; grep -q 'git commit' seen && echo not on main >&2 && exit 2`;
    const denied = await call([commit], {
      ...hooked(on("PreToolUse", guard, "Bash")),
      files: { a: "A", "b c": "B" },
      check: (rig) => {
        const { tool_name, tool_input } = JSON.parse(rig.read("seen")) as Record<string, unknown>;
        assert.equal(tool_name, "Bash");
        const command = String.raw`git commit -m 'It'\''s a` + "\nchange' -- a 'b c'";
        assert.deepEqual(tool_input, { command });
      },
    });
    assert.deepEqual(denied.answers, ["A hook does not allow it: not on main"]);
    const changed = await call([commit], {
      ...hooked(says({ updatedInput: { command: "true" } }, "git_commit")),
      files: { a: "A", "b c": "B" },
    });
    assert.match(changed.answers[0] ?? "", /cannot be changed/);
    assert.equal(changed.turn.asked.length, 0);
  });

  it("is ended when the turn is cancelled", async () => {
    const options: AgentRigOptions = hooked(on("PreToolUse", ": > started; sleep 600"));
    await using llm = await FakeLlm.start([{ toolCalls: [run("true")] }]);
    await using rig = new AgentRig({ llm, ...options });
    const going = rig.turn({
      prompt: "go",
      onUpdate: async ({ sessionUpdate }, turn) => {
        if (sessionUpdate !== "tool_call") return;
        void until(() => existsSync(join(rig.cwd, "started"))).then(() => turn.cancel());
      },
    });
    const { end, turn } = await going;
    assert.equal(end.stopReason, "cancelled");
    assert.equal(turn.asked.length, 0);
    await until(() => processesOf(rig.cwd).length === 0);
  });
});

describe("a hook after a tool call", () => {
  it("sees the answer, and tells the model something; a failed call has none", async () => {
    const settings = on("PostToolUse", "cat > seen; echo run the linter >&2; exit 2", "Write|Read");
    const { turn, answers } = await call([write("a", "x"), read("missing")], {
      ...hooked(settings),
      check: (rig) => {
        const { tool_response } = JSON.parse(rig.read("seen")) as { tool_response: unknown };
        const text = "Created a (1 line now).";
        assert.deepEqual(tool_response, { content: [{ type: "text", text }], isError: false });
      },
    });
    assert.match(answers[0] ?? "", /^Created a .*\nA hook of the person says: run the linter$/);
    assert.deepEqual(turn.ends, ["completed", "failed"]);
    assert.deepEqual(logged(turn), [{ event: "PostToolUse", outcome: "denied" }]);
  });

  it("may change the file, which the model has to read again, and /undo takes back", async () => {
    const format = on("PostToolUse", "echo formatted > a", "Write|Edit");
    const edit = { name: "edit_file", arguments: { path: "a", old_string: "x", new_string: "y" } };
    await using llm = await FakeLlm.start([
      { toolCalls: [read("a")] },
      { toolCalls: [write("a", "x\n")] },
      { toolCalls: [edit] },
      { content: "Done." },
    ]);
    await using rig = new AgentRig({ llm, ...hooked(format), files: { a: "old\n" } });
    rig.commitAll();
    const session = await rig.open();
    await rig.turnOf(session, "go");
    assert.match(llm.seen(), /'a' has changed since it was read/);
    assert.equal(rig.read("a"), "formatted\n");
    await rig.turnOf(session, "/undo");
    assert.equal(rig.read("a"), "old\n");
  });

  it("ends the turn", async () => {
    const stop = on("PostToolUse", `echo '{"continue":false,"stopReason":"enough"}'`);
    await using llm = await FakeLlm.start([{ toolCalls: [read("a")] }, { content: "Never." }]);
    await using rig = new AgentRig({ llm, ...hooked(stop), files: { a: "A" } });
    const { turn, end } = await rig.turn("go");
    assert.equal(end.stopReason, "end_turn");
    assert.equal(llm.requests.length, 1);
    assert.match(notices(turn), /A hook has ended the turn.*enough/);
  });
});

describe("a hook at the end of a turn", () => {
  it("sends the model on with a reason, and is told that it did", async () => {
    const command = `cat >> seen; [ -e done ] || { : > done; echo test it >&2; exit 2; }`;
    await using llm = await FakeLlm.start([{ content: "One." }, { content: "Two." }]);
    await using rig = new AgentRig({ llm, ...hooked(on("Stop", command)) });
    const { turn, end } = await rig.turn("go");
    assert.equal(end.stopReason, "end_turn");
    assert.equal(turn.text.replaceAll(/_.*?_/gs, ""), "One.Two.");
    assert.match(llm.seen(1), /A hook of the person says that you are not done: test it/);
    const told = rig.read("seen").trim().split("\n");
    assert.deepEqual(
      told.map((line) => (JSON.parse(line) as { stop_hook_active: boolean }).stop_hook_active),
      [false, true],
    );
    assert.deepEqual(logged(turn), [
      { event: "Stop", outcome: "denied" },
      { event: "Stop", outcome: "ok" },
    ]);
  });

  it("does so a limited number of times", async () => {
    const script = Array.from({ length: 10 }, () => ({ content: "Done." }));
    await using llm = await FakeLlm.start(script);
    await using rig = new AgentRig({ llm, ...hooked(on("Stop", "echo more >&2; exit 2")) });
    const { turn } = await rig.turn("go");
    assert.equal(llm.requests.length, 6);
    assert.match(notices(turn), /for more than 5 times/);
  });
});

describe("a hook at the start of a session", () => {
  it("gives context to the model, once, which a loaded session asks for again", async () => {
    const command = `read -r told; echo "$told" >> seen; echo The branch is frozen.`;
    await using llm = await FakeLlm.start([
      { content: "One." },
      { content: "Two." },
      { content: "Three." },
    ]);
    await using rig = new AgentRig({ llm, ...hooked(on("SessionStart", command)) });
    const session = await rig.open();
    const { turn } = await rig.turnOf(session, "go");
    await rig.turnOf(session, "go on");
    assert.match(llm.seen(0), /\(A hook of the person says:\)\nThe branch is frozen\./);
    assert.equal(rig.read("seen").trim().split("\n").length, 1);
    const entries = turn.updates.map((update): HistoryEntry => ({ kind: "update", update }));
    const history = async function* () {
      yield entries;
    };
    assert.doesNotMatch(JSON.stringify(await historyMessages(history())), /tool-call/);
    await rig.turnOf(await rig.open({ history: history() }), "again");
    const sources = rig.read("seen").trim().split("\n");
    assert.deepEqual(
      sources.map((line) => (JSON.parse(line) as { source: string }).source),
      ["startup", "resume"],
    );
  });
});

describe("a hook for prompts", () => {
  it("adds to one, or refuses it before the model sees it", async () => {
    const command = "grep -q secret && echo not that >&2 && exit 2; echo It is Friday.";
    await using llm = await FakeLlm.start([{ content: "Hello." }]);
    await using rig = new AgentRig({ llm, ...hooked(on("UserPromptSubmit", command)) });
    const session = await rig.open();
    const { turn, end } = await rig.turnOf(session, "tell the secret");
    assert.equal(end.stopReason, "refusal");
    assert.match(notices(turn), /does not allow this prompt.*not that/);
    assert.equal(llm.requests.length, 0);
    const entries: HistoryEntry[] = [
      { kind: "prompt", turnId: turn.id, prompt: turn.prompt },
      ...turn.updates.map((update): HistoryEntry => ({ kind: "update", update })),
      { kind: "end", turnId: turn.id, stopReason: "refusal" },
    ];
    const history = async function* () {
      yield entries;
    };
    assert.deepEqual(await historyMessages(history()), [], "nor when the session is loaded");
    await rig.turnOf(session, "hello");
    assert.match(llm.seen(0), /hello[^]*It is Friday\./);
    assert.doesNotMatch(llm.seen(0), /tell the secret/);
  });
});

describe("a hook for prompts, of one that joins a running turn", () => {
  it("adds to it, or refuses it alone, also when the session is loaded", async () => {
    const command = "grep -q secret && echo not that >&2 && exit 2; echo It is Friday.";
    await using llm = await FakeLlm.start([{ content: "One." }, { content: "Two." }]);
    await using rig = new AgentRig({ llm, ...hooked(on("UserPromptSubmit", command)) });
    const session = await rig.open();
    const entries: HistoryEntry[] = [];
    const said = (turn: SampleTurn, text: string): void => {
      turn.steer(text);
      const prompt = [{ type: "text", text }];
      entries.push({ kind: "prompt", turnId: turn.id, prompt });
    };
    const { turn, end } = await rig.turnOf(session, {
      prompt: "go",
      onUpdate: (update, running) => {
        const isFirst = entries.every(({ kind }) => kind !== "prompt");
        const isAnswer = update.sessionUpdate === "agent_message_chunk";
        // The log has a steering prompt when it is taken, before what hooks say of it.
        if (isAnswer && isFirst) said(running, "tell the secret");
        entries.push({ kind: "update", update });
        if (/not that/.test(JSON.stringify(update)) && update.sessionUpdate === "notice") {
          said(running, "rather in red");
        }
      },
    });
    assert.equal(end.stopReason, "end_turn");
    assert.equal(turn.text, "One.Two.");
    assert.match(notices(turn), /does not allow this prompt.*not that/);
    assert.match(llm.seen(1), /user: .*rather in red[^]*It is Friday\./);
    assert.doesNotMatch(llm.seen(1), /tell the secret/);
    const loaded = JSON.stringify(
      await historyMessages(
        (async function* () {
          yield entries;
        })(),
      ),
    );
    assert.doesNotMatch(loaded, /tell the secret/);
    assert.match(loaded, /One\..*rather in red.*Two\./);
  });

  it("ends the turn", async () => {
    const stop = `grep -q enough && echo '{"continue":false,"stopReason":"over"}'; exit 0`;
    await using llm = await FakeLlm.start([{ content: "One." }, { content: "Never." }]);
    await using rig = new AgentRig({ llm, ...hooked(on("UserPromptSubmit", stop)) });
    const { turn, end } = await rig.turn({
      prompt: "go",
      onUpdate: (update, running) => {
        if (update.sessionUpdate === "agent_message_chunk") running.steer("enough");
      },
    });
    assert.equal(end.stopReason, "end_turn");
    assert.equal(llm.requests.length, 1);
    assert.match(notices(turn), /A hook has ended the turn.*over/);
  });
});

describe("the hooks of a session", () => {
  it("say once which of them do not run", async () => {
    await using llm = await FakeLlm.start([{ content: "One." }, { content: "Two." }]);
    await using rig = new AgentRig({ llm, ...hooked({ Notification: [] }) });
    const session = await rig.open();
    assert.match(notices((await rig.turnOf(session, "go")).turn), /'Notification' do not run/);
    assert.equal(notices((await rig.turnOf(session, "go")).turn), "[]");
  });

  it("apply to subagents, too", async () => {
    const task = { title: "t", prompt: "p" };
    await using llm = await FakeLlm.start([
      { toolCalls: [{ name: "task", arguments: task }] },
      { toolCalls: [read("a")] },
      { content: "Could not." },
      { content: "Done." },
    ]);
    const deny = on("PreToolUse", "echo not here >&2; exit 2", "Read");
    await using rig = new AgentRig({ llm, ...hooked(deny), files: { a: "A" } });
    const { turn } = await rig.turn("use a subagent (task)");
    assert.match(llm.seen(), /A hook does not allow it: not here/);
    assert.deepEqual(logged(turn), [{ event: "PreToolUse", outcome: "denied" }]);
    assert.doesNotMatch(readFileSync(join(rig.cwd, "a"), "utf8"), /x/);
  });
});
