import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { processesOf } from "../../test/support/processes.ts";
import { until } from "../../test/support/until.ts";
import type { HookEvent, HookSettings } from "./hook.ts";
import {
  type HookOccasion,
  type HookRun,
  type Hooks,
  hooksFor,
  type HookSandbox,
  type HookVerdict,
} from "./hooks.ts";

interface RigOptions {
  readonly user?: HookSettings;
  readonly project?: HookSettings;
  readonly sandbox?: HookSandbox;
}

/** Hooks with real processes, in a folder of their own. */
class Rig implements AsyncDisposable {
  readonly cwd = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-hooks-")));
  readonly runs: HookRun[] = [];
  readonly hooks: Hooks;

  constructor({ user = {}, project = {}, sandbox }: RigOptions) {
    this.hooks = hooksFor({
      sessionId: "s1",
      cwd: this.cwd,
      settings: { user, project },
      sandbox,
      env: async (source) => ({ PATH: process.env.PATH, SOURCE: source }),
      record: (run) => this.runs.push(run),
    });
  }

  /** A call of a command, or another event. */
  run(occasion: Partial<HookOccasion> = {}): Promise<HookVerdict> {
    const input = { tool_name: "Bash", tool_input: { command: "ls" } };
    const { signal } = new AbortController();
    return this.hooks.run({ event: "PreToolUse", names: ["Bash"], input, signal, ...occasion });
  }

  read(name: string): string {
    return readFileSync(join(this.cwd, name), "utf8");
  }

  get outcomes(): string[] {
    return this.runs.map(({ outcome }) => outcome);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.hooks[Symbol.asyncDispose]();
    rmSync(this.cwd, { recursive: true, force: true });
  }
}

function on(event: HookEvent, command: string, more: object = {}, matcher = ""): HookSettings {
  return { [event]: [{ matcher, hooks: [{ type: "command", command, ...more }] }] };
}

const before = (command: string, more?: object, matcher?: string): HookSettings =>
  on("PreToolUse", command, more, matcher);

function says(answer: object): string {
  return `echo '${JSON.stringify({ hookSpecificOutput: { hookEventName: "PreToolUse", ...answer } })}'`;
}

/** A sandbox that only shows that it was used. */
function markedSandbox(isThere = true): HookSandbox {
  return {
    isThere: async () => isThere,
    enter: async () => ({
      confine: (program) => ({ ...program, env: { ...program.env, CONFINED: "yes" } }),
      [Symbol.asyncDispose]: async () => {},
    }),
  };
}

describe("a hook", () => {
  it("reads what happens as JSON, in the session's folder, with the environment of its kind", async () => {
    await using rig = new Rig({
      user: before('cat > in; echo "$SOURCE $CLAUDE_PROJECT_DIR $PWD" > env'),
    });
    const verdict = await rig.run();
    assert.deepEqual(JSON.parse(rig.read("in")), {
      session_id: "s1",
      cwd: rig.cwd,
      hook_event_name: "PreToolUse",
      tool_name: "Bash",
      tool_input: { command: "ls" },
    });
    assert.equal(rig.read("env"), `user ${rig.cwd} ${rig.cwd}\n`);
    assert.equal(verdict.decision, undefined);
    const [{ milliseconds: _, ...run } = {}] = rig.runs;
    const source = "user";
    const command = 'cat > in; echo "$SOURCE $CLAUDE_PROJECT_DIR $PWD" > env';
    const known = { event: "PreToolUse", source, command, tool: "Bash", outcome: "ok" };
    assert.deepEqual(run, { ...known, reason: undefined });
  });

  it("denies with exit code 2 and what it writes to stderr, or in JSON", async () => {
    for (const command of [
      "echo no such thing >&2; exit 2",
      says({ permissionDecision: "deny", permissionDecisionReason: "no such thing" }),
      `echo '{"decision":"block","reason":"no such thing"}'`,
    ]) {
      await using rig = new Rig({ user: before(command) });
      const { decision, reason } = await rig.run();
      assert.deepEqual([decision, reason], ["deny", "no such thing"]);
      assert.deepEqual(rig.outcomes, ["denied"]);
    }
  });

  it("cannot allow: to say so is to say nothing, and another's ask or deny counts", async () => {
    const allow = says({ permissionDecision: "allow" });
    const ask = says({ permissionDecision: "ask", permissionDecisionReason: "sure?" });
    const group = (...commands: string[]) => ({
      PreToolUse: [{ hooks: commands.map((command) => ({ type: "command", command })) }],
    });
    await using alone = new Rig({ user: group(allow) });
    assert.equal((await alone.run()).decision, undefined);
    await using asking = new Rig({ user: group(ask, allow) });
    const { decision, reason } = await asking.run();
    assert.deepEqual([decision, reason], ["ask", "sure?"]);
    await using denying = new Rig({ user: group(allow, ask, "exit 2", "touch later") });
    assert.equal((await denying.run()).decision, "deny");
    assert.ok(!existsSync(join(denying.cwd, "later")), "none runs after one that denies");
  });

  it("runs for the tools that its matcher fits as a whole, once, whatever else matches", async () => {
    const hooks = [{ type: "command", command: "echo x >> ran" }];
    const groups = ["Bash", "*", "Edit|Bash", "Ba", "mcp__.*"].map((matcher) => ({
      matcher,
      hooks,
    }));
    await using rig = new Rig({ user: { PreToolUse: groups.toSpliced(1, 1) } });
    await rig.run();
    assert.equal(rig.read("ran"), "x\n");
    await rig.run({ names: ["Bashful", "other"] });
    assert.equal(rig.read("ran"), "x\n");
    await rig.run({ names: ["mcp__files__read"] });
    assert.equal(rig.read("ran"), "x\nx\n");
  });

  it("changes a call, and the next one sees the change", async () => {
    const change = says({ updatedInput: { command: "ls -l" } });
    await using rig = new Rig({
      project: before(change),
      user: before("cat > seen"),
      sandbox: markedSandbox(),
    });
    const { input } = await rig.run();
    assert.deepEqual(input, { command: "ls -l" });
    assert.match(rig.read("seen"), /"tool_input":\{"command":"ls -l"\}/);
    assert.deepEqual(rig.outcomes, ["changed", "ok"]);
  });

  it("is only reported if it fails by itself, and denies a call if that was wished", async () => {
    for (const command of ["echo oops >&2; exit 1", "echo '{broken'"]) {
      await using rig = new Rig({ user: before(command) });
      const { decision, messages } = await rig.run();
      assert.equal(decision, undefined);
      assert.match(messages.join(), /exit code 1: oops|no valid JSON/);
      assert.deepEqual(rig.outcomes, ["failed"]);
      await using strict = new Rig({ user: before(command, { onFailure: "block" }) });
      assert.equal((await strict.run()).decision, "deny");
    }
  });

  it("denies a call if it cannot do its work, unless that was wished", async () => {
    for (const command of [
      "./not-there",
      "kill -9 $$",
      "yes",
      says({ permissionDecision: "Deny" }),
    ]) {
      await using rig = new Rig({ user: before(command) });
      const { decision, reason } = await rig.run();
      assert.equal(decision, "deny", command);
      assert.match(
        reason ?? "",
        /could not be started|SIGKILL|too much|"Deny", which is not known/,
      );
      await using open = new Rig({ user: before(command, { onFailure: "continue" }) });
      assert.equal((await open.run()).decision, undefined);
      await using later = new Rig({ user: on("PostToolUse", command) });
      assert.equal((await later.run({ event: "PostToolUse" })).decision, undefined);
    }
  });

  it("is ended with all that it started when it takes too long", async () => {
    const command = "sleep 600 & : > started; sleep 600";
    await using rig = new Rig({ user: before(command, { timeout: 0.5 }) });
    const { decision, reason } = await rig.run();
    assert.deepEqual([decision, reason], ["deny", "it took longer than 0.5 s"]);
    assert.deepEqual(processesOf(rig.cwd), []);
  });

  it("is ended when the call is cancelled, and when the session ends", async () => {
    const command = "sleep 600 & : > started; sleep 600";
    for (const way of ["cancel", "end"]) {
      await using rig = new Rig({ user: before(command) });
      const cancel = new AbortController();
      const run = rig.run({ signal: cancel.signal });
      const rejected = assert.rejects(run, way === "cancel" ? /stop it/ : /session is over/);
      await until(() => existsSync(join(rig.cwd, "started")));
      if (way === "cancel") cancel.abort(new Error("stop it"));
      else await rig.hooks[Symbol.asyncDispose]();
      await rejected;
      assert.deepEqual(processesOf(rig.cwd), []);
      assert.deepEqual(rig.outcomes, ["cancelled"]);
    }
  });

  it("gives the model context, the person a message, and ends the turn", async () => {
    const answer = {
      continue: false,
      stopReason: "enough",
      systemMessage: "for you",
      hookSpecificOutput: { additionalContext: "for the model" },
    };
    await using rig = new Rig({ user: on("PostToolUse", `echo '${JSON.stringify(answer)}'`) });
    const { stop, messages, context } = await rig.run({ event: "PostToolUse" });
    assert.deepEqual([stop, messages], ["enough", ["Hook: for you"]]);
    assert.deepEqual(context, [{ source: "user", text: "for the model" }]);
    await using plain = new Rig({
      user: on("SessionStart", "echo on the branch main", {}, "startup"),
    });
    const event = "SessionStart";
    const started = await plain.run({ event, names: ["startup"] });
    assert.deepEqual(started.context, [{ source: "user", text: "on the branch main" }]);
    assert.deepEqual((await plain.run({ event, names: ["resume"] })).runs, []);
  });
});

describe("a hook of a project", () => {
  it("runs in the sandbox, and not at all without one, which is said once", async () => {
    const project = before('echo "$CONFINED $SOURCE" >> ran');
    await using rig = new Rig({ project, sandbox: markedSandbox() });
    const ran = new Set<string>();
    await rig.run({ ran });
    assert.equal(rig.read("ran"), "yes project\n");
    assert.equal(ran.size, 0, "it stands for the same command of the gateway");
    for (const sandbox of [undefined, markedSandbox(false)]) {
      await using without = new Rig({ project, ...(sandbox && { sandbox }) });
      assert.match((await without.run()).messages.join(), /project's hooks do not run/);
      assert.deepEqual((await without.run()).messages, []);
      assert.ok(!existsSync(join(without.cwd, "ran")));
      assert.deepEqual(without.runs, []);
    }
  });
});

describe("hooks that were pasted", () => {
  it("are left out if they cannot be run as they are meant, which is said", async () => {
    const entries = [
      { type: "prompt", prompt: "Is this fine?" },
      { type: "command", command: "touch a", if: "Bash(git *)" },
      { type: "command" },
      { type: "command", command: "touch fine", statusMessage: "Looking" },
    ];
    const user: HookSettings = {
      PreToolUse: [{ hooks: entries }, { matcher: "(?=x)", hooks: [{ command: "touch b" }] }],
      Notification: [{ hooks: [{ command: "touch c" }] }],
    };
    await using rig = new Rig({ user });
    assert.deepEqual(
      rig.hooks.problems.map((each) => each.replace(/^Your hooks? for /, "")),
      [
        "PreToolUse does not run (prompt): only hooks of the type 'command' are run, not 'prompt'",
        "PreToolUse does not run (touch a): 'if' is not known here",
        "PreToolUse does not run (command): it has no command",
        "PreToolUse does not run (touch b): '(?=x)' is no regular expression, or one that could take long",
        "'Notification' do not run: there is no such event here",
      ],
    );
    await rig.run();
    assert.deepEqual(
      rig.runs.map(({ command }) => command),
      ["touch fine"],
    );
  });
});
