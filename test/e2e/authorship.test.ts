// Long: a program for each question.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { realpathSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { WorkHistory } from "../../src/authorship/work-history.ts";
import { Reviews } from "../../src/store/review/reviews.ts";
import { AcpEditor, type AcpEditorOptions, Place } from "../support/acp-editor.ts";
import { Program } from "../support/program.ts";
import { until } from "../support/until.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const CONFIG = { agent: "other", agents: { other: { command: process.execPath, args: [AGENT] } } };

/** A repository of Ada's, and the program in it. */
class Worked extends Place {
  readonly env = { HOME: this.home, GIT_CONFIG_NOSYSTEM: "1" };
  readonly data = join(this.path, "data");
  readonly settings = ["--config", join(this.path, "config.jsonc"), "--data", this.data];

  constructor() {
    super();
    writeFileSync(join(this.path, "config.jsonc"), JSON.stringify(CONFIG));
    this.git("init", "--quiet");
    this.git("config", "user.name", "Ada");
    this.git("config", "user.email", "ada@example.org");
    this.write("a.txt", "first line of the person\n");
    this.save("First");
  }

  write(name: string, text: string): void {
    writeFileSync(join(this.folder, name), text);
  }

  git(...args: string[]): string {
    const env = { ...this.env, PATH: process.env.PATH };
    return execFileSync("git", args, { cwd: this.folder, env, encoding: "utf8" });
  }

  save(message: string): string {
    this.git("add", ".");
    this.git("commit", "--quiet", "--message", message);
    return this.git("rev-parse", "HEAD").trim();
  }

  editor(answers: AcpEditorOptions["answers"] = {}): AcpEditor {
    const args = ["--data", this.data];
    return new AcpEditor(this, { config: CONFIG, env: this.env, args, answers });
  }

  async run(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
    const options = { env: this.env, cwd: this.folder };
    await using program = new Program([...args, ...this.settings], options);
    program.child.stdin.end();
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }
}

describe("who wrote a line", { timeout: 600_000 }, () => {
  it("is told for every agent, with its prompt, by why, blame and stats", async () => {
    using place = new Worked();
    const run = (...args: string[]) => place.run(...args);
    let sessionId = "";
    {
      await using editor = place.editor();
      sessionId = await editor.begin();
      await editor.prompt(sessionId, "put a.txt|second line of the agent|0");
    }
    const { out: text } = await run("why", "a.txt:1");
    assert.match(text, /^line +second line of the agent\nwritten by +other/);
    assert.match(text, /\nprompt +put a\.txt\|second line/);
    assert.match(text, /\nreplaced +first line of the person/);
    assert.match(text, /\ncommitted +not yet\ncertain +yes/);
    const commit = place.save("Second");
    const { out, err } = await run("why", "a.txt:1", "--json");
    assert.equal(err, "");
    const { prompt, turn, call, ...rest } = JSON.parse(out);
    assert.equal(prompt, "put a.txt|second line of the agent|0");
    assert.ok(turn && call);
    assert.partialDeepStrictEqual(rest, {
      session: sessionId,
      agent: "other",
      commit,
      author: "Ada <ada@example.org>",
      committer: "Ada <ada@example.org>",
      certain: true,
    });
    assert.match((await run("blame", "a.txt")).out, /^\w{8} +other +1 +second line of the agent/);
    const record = JSON.parse((await run("blame", "a.txt", "--agent-trace")).out);
    assert.deepEqual(record.vcs, { type: "git", revision: commit });
    assert.equal(record.files[0].conversations[0].url, `urn:uuid:${sessionId}`);
    assert.match((await run("stats")).out, /\n1 +1 +other$/);
    const wrong = await run("why", "a.txt");
    assert.deepEqual([wrong.code, wrong.out], [2, ""]);
    assert.match(wrong.err, /FILE:LINE, not 'a\.txt'/);
    const missing = await run("why", "a.txt:9");
    assert.equal(missing.code, 1);
    assert.match(missing.err, /'a\.txt' is no file of the repository with a line 9/);
  });

  it("is noted in the repository after the person's yes, and not before", async () => {
    using place = new Worked();
    const { out: off } = await place.run("notes");
    assert.match(off, /^Notes are not written in /);
    const refused = await place.run("notes", "write");
    assert.equal(refused.code, 2);
    assert.match(refused.err, /Say yes with `trunkline notes on` first/);
    const { out: on } = await place.run("notes", "on");
    assert.match(
      on,
      /^Notes are written in '.*'\.\nShare them .*: git push origin refs\/notes\/ai$/,
    );
    {
      await using editor = place.editor();
      const sessionId = await editor.begin();
      await editor.prompt(sessionId, "put a.txt|a private word|0");
    }
    const commit = place.save("Second");
    const { out } = await place.run("notes", "write", "--json");
    assert.deepEqual(JSON.parse(out).written, [commit]);
    const note = place.git("notes", "--ref=ai", "show", commit);
    assert.match(note, /^a\.txt\n {2}s_\w{14}::t_\w{14} 1\n---\n/);
    assert.doesNotMatch(note, /private/);
    assert.match((await place.run("notes", "off")).out, /^Notes are not written/);
    assert.equal(place.git("config", "--local", "--list").includes("notes"), false);
  });

  it("is told with the permission and the review thread that it came from", async () => {
    using place = new Worked();
    await place.run("review", "add", "--file", "a.txt", "--line", "1", "--comment", "Say it twice");
    using reviews = await Reviews.open(place.data);
    const [{ id: thread } = { id: "" }] = await reviews.list();
    assert.notEqual(thread, "");
    const path = join(realpathSync(place.folder), "a.txt");
    const call = { toolCallId: "edit-1", title: "Edit a.txt", kind: "edit" };
    const content = [{ type: "diff", path, oldText: null, newText: "first\nagain\n" }];
    const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
    const said = { type: "text", text: "begun" };
    const updates = [
      { sessionUpdate: "agent_message_chunk", content: said },
      { await: ".git/go" },
      { sessionUpdate: "tool_call", ...call, status: "pending", content, rawInput: { thread } },
      { ask: { toolCall: call, options } },
      { await: ".git/written" },
      { sessionUpdate: "tool_call_update", toolCallId: "edit-1", status: "completed" },
    ];
    // Where git does not look for files of the work tree.
    place.write(".git/updates.json", JSON.stringify(updates));
    {
      const allowed = { outcome: { outcome: "selected", optionId: "yes" } };
      await using editor = place.editor({ "session/request_permission": () => allowed });
      const sessionId = await editor.begin();
      const prompted = editor.prompt(sessionId, "updates .git/updates.json");
      await editor.update(({ sessionUpdate }) => sessionUpdate === "agent_message_chunk");
      place.write("look.txt", "what the call's first look sees\n");
      place.write(".git/go", "");
      const history = WorkHistory.of(place.data, place.folder);
      assert.ok(history);
      await until(async () => {
        const tip = await history.tip();
        return tip !== undefined && (await history.text(tip, "look.txt")) !== undefined;
      });
      place.write("a.txt", "first\nagain\n");
      await reviews.reply(thread, { by: "other", role: "agent", text: "I say it twice." });
      place.write(".git/written", "");
      await prompted;
    }
    const { out } = await place.run("why", "a.txt:2", "--json");
    assert.partialDeepStrictEqual(JSON.parse(out), {
      permission: { title: "Edit a.txt", by: "editor", outcome: "allow_once" },
      review: { id: thread, comment: "Say it twice" },
      certain: true,
    });
    const { out: text } = await place.run("why", "a.txt:2");
    assert.match(text, /\nallowed by +editor \(allow_once\): Edit a\.txt\n/);
    assert.match(text, /\nasked by +\S.* in \S+: Say it twice\n/);
    // An answer that names the commit tells it too, unless there are several.
    await place.run("review", "add", "--file", "a.txt", "--line", "2", "--comment", "Commit it");
    const other = (await reviews.list()).find(({ id }) => id !== thread)?.id ?? "";
    const commit = place.save("Again");
    await reviews.propose(other, { by: "x", role: "agent", proposal: { commit } });
    const named = JSON.parse((await place.run("why", "look.txt:1", "--json")).out);
    assert.deepEqual([named.review?.id, named.commit], [other, commit]);
    const several = JSON.parse((await place.run("why", "a.txt:2", "--json")).out);
    assert.deepEqual([several.review, several.commit], [undefined, commit]);
  });
});
