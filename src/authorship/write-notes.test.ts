// Long: repositories with many commits.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { promisify } from "node:util";

import { SampleRepository } from "../../test/samples/sample-repository.ts";
import { Log } from "../base/log.ts";
import { LARGEST_NOTE } from "./git-ai-note.ts";
import { LineTracer } from "./line-tracer.ts";
import { TurnRecorder } from "./record-turns.ts";
import { WorkHistory } from "./work-history.ts";
import { writeNotes } from "./write-notes.ts";

const execFileAsync = promisify(execFile);
const ADA = "Ada <ada@example.org>";

/** A note by the letter of Git AI's specification 3.0.0: everything that it does not allow is an error. */
function strictly(note: string): { lines: Record<string, string>; facts: Record<string, unknown> } {
  const [attested = "", metadata = "", ...more] = note.split(/^---\n/m);
  assert.equal(more.length, 0);
  const lines: Record<string, string> = {};
  let path: string | undefined;
  for (const row of attested.replace(/\n$/, "").split("\n")) {
    if (!row.startsWith(" ")) {
      const [, quoted, plain] = /^(?:"([^"]*\s[^"]*)"|([^\s"]+))$/.exec(row) ?? [];
      path = quoted ?? plain;
      assert.ok(path, `no path: ${row}`);
      continue;
    }
    const [, key = "", ranges = ""] =
      /^ {2}(s_[0-9a-f]{14}::t_[0-9a-f]{14}) (\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*)$/.exec(row) ?? [];
    assert.ok(path && key, `no attestation: ${row}`);
    const numbers = ranges.split(/[,-]/).map(Number);
    assert.deepEqual(
      numbers,
      [...new Set(numbers)].toSorted((a, b) => a - b),
      ranges,
    );
    lines[`${path} ${key}`] = ranges;
  }
  const facts = JSON.parse(metadata) as Record<string, unknown>;
  return { lines, facts };
}

const digest = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, 14);

class Noted extends SampleRepository {
  readonly data = join(this.home, "data");
  readonly #log: string[] = [];
  #looks = 0;
  readonly recorder = new TurnRecorder(this.data, new Log("warn", (line) => this.#log.push(line)));

  constructor() {
    super();
    this.write(".gitconfig", "[user]\n\tname = Ada\n\temail = ada@example.org\n");
    this.write("app/a.txt", "of Ada\n");
    this.save("First");
  }

  get history(): WorkHistory {
    const history = WorkHistory.of(this.data, this.path);
    assert.ok(history);
    return history;
  }

  save(message: string, at = Date.now()): string {
    this.run("add", "--all");
    const env = { GIT_COMMITTER_DATE: new Date(at).toISOString() };
    this.runWith(this.path, env, "commit", "--quiet", "--message", message);
    return this.run("rev-parse", "HEAD").trim();
  }

  note(commit: string): string {
    return this.run("notes", "--ref=ai", "show", commit);
  }

  get notes(): number {
    return this.run("notes", "--ref=ai", "list").split("\n").filter(Boolean).length;
  }

  /** A turn in which an agent writes files, of which it tells, and does what it does not tell. */
  async turn(session: string, files: Record<string, string>, more: () => void = () => {}) {
    const turn = { session, turn: "t", agent: "claude", model: "opus", folder: this.path };
    const recording = this.recorder.begin(turn);
    assert.ok(recording);
    await recording.ready;
    const saw = async (call: string, kind: string, work: () => void, content: object[] = []) => {
      const update = { toolCallId: call, kind, content };
      const look = `look ${++this.#looks}`;
      this.write("app/look.txt", look);
      recording.saw({
        sessionUpdate: "tool_call",
        status: "in_progress",
        ...update,
      });
      await this.looked("look.txt", look);
      work();
      const ended = { sessionUpdate: "tool_call_update", status: "completed", ...update };
      recording.saw(ended);
    };
    for (const [path, newText] of Object.entries(files)) {
      const diff = { type: "diff", path: join(this.path, path), oldText: null, newText };
      await saw(path, "edit", () => this.write(`app/${path}`, newText), [diff]);
      await this.looked(path, newText);
    }
    await saw("commit", "execute", more);
    await recording.ended();
    assert.deepEqual(this.#log, []);
  }

  /** Waits until the step of a call is stored. */
  async looked(path: string, text: string): Promise<void> {
    const { history } = this;
    for (;;) {
      const tip = await history.tip();
      if (tip !== undefined && (await history.text(tip, path)) === text) return;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}

describe("notes of commits", () => {
  it("are written after a turn that committed, by the letter of the format, only after a yes", async () => {
    using noted = new Noted();
    await noted.turn("one", { "a.txt": "of Ada\nagent\n" }, () =>
      noted.save("No yes yet", Date.now() - 60_000),
    );
    assert.equal(noted.notes, 0);
    const { history } = noted;
    history.notesSince = Date.now();
    const files = { "a.txt": "new\nof Ada\nagent\nlast\n", "sub/with space.txt": "x\ny\n" };
    await noted.turn("two", files, () => noted.save("Private words"));
    const commit = noted.run("rev-parse", "HEAD").trim();
    const { lines, facts } = strictly(`${noted.note(commit)}\n`);
    const key = `s_${digest("claude:two")}`;
    const edit = (call: string): string => `${key}::t_${digest(`two:t:${call}`)}`;
    assert.deepEqual(lines, {
      [`a.txt ${edit("a.txt")}`]: "1,4",
      [`sub/with space.txt ${edit("sub/with space.txt")}`]: "1-2",
    });
    const agent = { tool: "claude", id: "two", model: "opus" };
    assert.deepEqual(facts, {
      schema_version: "authorship/3.0.0",
      base_commit_sha: commit,
      prompts: {},
      sessions: { [key]: { agent_id: agent, human_author: ADA } },
    });
    // The same on another commit, by a way that only its text tells of.
    noted.run("reset", "--quiet", "--hard", "HEAD~1");
    await history.record({ by: "person" });
    noted.write("app/other.txt", "other\n");
    noted.save("Other");
    noted.run("cherry-pick", commit);
    const picked = noted.run("rev-parse", "HEAD").trim();
    assert.ok((await writeNotes(history)).written.includes(picked));
    // Where the record is, it says more; where only the note is left, that is believed.
    const [line] = await new LineTracer(history).trace("a.txt", { range: { first: 4, last: 4 } });
    assert.equal(line?.step.turn, "t");
    rmSync(join(noted.data, "authorship"), { recursive: true });
    const all = await new LineTracer(noted.history).trace("a.txt");
    assert.deepEqual(
      all.map(({ step }) => [step.by, step.session]),
      [
        ["agent", "two"],
        ["commit", undefined],
        ["commit", undefined],
        ["agent", "two"],
      ],
    );
  });

  it("have only what is certain, and keep what others wrote", async () => {
    using noted = new Noted();
    const { history } = noted;
    history.notesSince = Date.now();
    await noted.turn("one", {}, () => noted.write("app/b.txt", "by a command\n"));
    noted.save("By a command");
    await noted.turn("one", { "a.txt": "agent\n" });
    const theirs = noted.save("Noted by others");
    noted.run("notes", "--ref=ai", "add", "--message", "theirs", theirs);
    await noted.turn("one", { "c.txt": "agent\n" });
    const ours = noted.save("Ours");
    assert.deepEqual(await writeNotes(history), { written: [ours], kept: [theirs] });
    assert.deepEqual([noted.note(theirs), noted.notes], ["theirs", 2]);
    // What has a note is not traced again, which a turn would wait for.
    rmSync(join(noted.data, "authorship"), { recursive: true });
    noted.history.notesSince = Date.now() - 60_000;
    const kept = await writeNotes(noted.history);
    assert.deepEqual(kept, { written: [], kept: [ours, theirs] });
    history.notesSince = undefined;
    assert.deepEqual(await writeNotes(history), { written: [], kept: [] });
    assert.equal(noted.run("for-each-ref", "--format=%(authorname)", "refs/notes/ai"), "Trunkline");
  });

  it("take away none that others write at the same time", async () => {
    using noted = new Noted();
    const { history } = noted;
    const save = (name: string): string[] => {
      return Array.from({ length: 15 }, (_, at) => {
        noted.write(`app/${name}${at}.txt`, "x\n");
        return noted.save(`${name} ${at}`);
      });
    };
    const [theirs, ours] = [save("theirs"), save("ours")];
    const writing = (async () => {
      for (const commit of ours) await history.note(commit, "ours");
    })();
    for (const commit of theirs) {
      await execFileAsync("git", ["notes", "--ref=ai", "add", "-m", "theirs", commit], {
        cwd: noted.path,
        env: { ...process.env, HOME: noted.home },
      });
    }
    await writing;
    for (const commit of theirs) assert.equal(noted.note(commit), "theirs");
    assert.equal(await history.note(theirs[0] ?? "", "again"), false);
    assert.equal(noted.run("for-each-ref", "refs/notes/trunkline-next"), "");
  });

  it("are not traced again for commits in which there is nothing to note", async () => {
    using noted = new Noted();
    const { history } = noted;
    history.notesSince = Date.now();
    await noted.turn("one", {}, () => noted.write("app/b.txt", "by a command\n"));
    const commit = noted.save("By a command");
    assert.deepEqual(await writeNotes(history), { written: [], kept: [] });
    assert.ok(history.unnoted.has(commit));
    history.changedIn = () => assert.fail("it is looked at again");
    assert.deepEqual(await writeNotes(history), { written: [], kept: [] });
  });

  it("are not read where they are larger than any is", async () => {
    using noted = new Noted();
    const sessions = { s_0: { agent_id: { tool: "evil", id: "e", model: "m" } } };
    for (const size of [LARGEST_NOTE, 17 * LARGEST_NOTE]) {
      const facts = JSON.stringify({ sessions, pad: "x".repeat(size) });
      const file = noted.write("note", `a.txt\n  s_0 1\n---\n${facts}\n`);
      noted.run("notes", "--ref=ai", "add", "--force", "--file", file, "HEAD");
      const [line] = await new LineTracer(noted.history).trace("a.txt");
      assert.equal(line?.step.by, "commit");
    }
  });
});
