// Long: every command on a disk that fails.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, it } from "node:test";

import { AcpEditor, Place } from "../support/acp-editor.ts";
import { GuardedHome, INITIALIZE } from "../support/guarded-gateway.ts";
import { LockedDatabase } from "../support/locked-database.ts";
import { SmallDisk } from "../support/small-disk.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const CONFIG = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
};

/** The words of each turn of a session, as whoever opens it is shown them. */
async function turnsOf(editor: AcpEditor, sessionId: string): Promise<string[]> {
  const since = editor.messages.length;
  await editor.ask("session/load", { sessionId, cwd: editor.place.folder, mcpServers: [] });
  const turns: string[] = [];
  for (const { method, params } of editor.messages.slice(since)) {
    if (method !== "session/update") continue;
    const { sessionUpdate, content } = params.update;
    if (sessionUpdate === "user_message_chunk") turns.push("");
    if (sessionUpdate === "agent_message_chunk") turns.push(turns.pop() + content.text);
  }
  return turns;
}

/** Has an agent speak until that fails, and sees that it costs its turn and nothing else. */
async function failAndRecover(
  editor: AcpEditor,
  cause: () => Promise<AsyncDisposable>,
  why: RegExp,
): Promise<void> {
  const sessionId = await editor.begin();
  await editor.prompt(sessionId, "say before");
  const prompt = [{ type: "text", text: "forever" }];
  const forever = editor.post("session/prompt", { sessionId, prompt });
  await editor.program.until(() => editor.text().includes(" 9 "));
  {
    await using _cause = await cause();
    const { error } = await editor.answerTo(forever);
    assert.match(error.message as string, why);
    // While it lasts, whoever asks is told, and whatever needs no disk goes on.
    await assert.rejects(editor.prompt(sessionId, "say nothing"), why);
    const { sessions } = await editor.ask("session/list", {});
    assert.equal((sessions as unknown[]).length, 1);
  }
  const since = editor.messages.length;
  const { stopReason } = await editor.prompt(sessionId, "say after");
  assert.equal(stopReason, "end_turn");
  assert.equal(editor.text(since), "after");
  const shown = editor.text().slice("before".length, -"after".length);
  await editor.ask("session/close", { sessionId });
  const [first, failed = "", last, ...more] = await turnsOf(editor, sessionId);
  assert.deepEqual([first, last, more], ["before", "after", []]);
  // What was shown is kept, to the last word, and no word is missing between.
  const kept = failed.replace(/\s*\[This turn was interrupted: .*/s, "");
  assert.equal(kept.trim(), shown.trim());
  assert.deepEqual(
    kept.trim().split(" "),
    Array.from(kept.trim().split(" "), (_, at) => String(at)),
  );
  assert.match(failed, /\[This turn was interrupted: /);
  assert.equal(editor.program.child.exitCode, null);
}

describe("trunkline acp with an external agent, if its store fails", { timeout: 600_000 }, () => {
  it("fails a turn when the disk is full, and works again when there is room", async (test) => {
    const { missing } = SmallDisk;
    if (missing !== undefined) return test.skip(missing);
    using disk = new SmallDisk();
    using place = new Place();
    const data = join(disk.path, "data");
    const options = { config: CONFIG, args: ["--data", data], within: disk.within };
    await using editor = new AcpEditor(place, options);
    const { pid } = editor.program.child;
    const cause = async (): Promise<AsyncDisposable> => {
      disk.fill(pid);
      return { [Symbol.asyncDispose]: async () => disk.free(pid) };
    };
    await failAndRecover(editor, cause, /database or disk is full. Free some space/);
  });

  it("fails a turn when files cannot grow, and works again when they can", async (test) => {
    if (process.platform !== "linux") return test.skip("needs Linux's prlimit(1)");
    using place = new Place();
    await using editor = new AcpEditor(place, { config: CONFIG });
    const limit = (bytes: string): void => {
      execFileSync("prlimit", ["--pid", `${editor.program.child.pid}`, `--fsize=${bytes}:`]);
    };
    const cause = async (): Promise<AsyncDisposable> => {
      limit("100000");
      return { [Symbol.asyncDispose]: async () => limit("unlimited") };
    };
    await failAndRecover(editor, cause, /Cannot write '.*sessions\.sqlite': disk I\/O error/);
  });

  it("fails a turn when another process locks the database, and works again when it is released", async () => {
    using place = new Place();
    const data = join(place.path, "data");
    await using editor = new AcpEditor(place, { config: CONFIG, args: ["--data", data] });
    const cause = () => LockedDatabase.lock(join(data, "sessions.sqlite"));
    await failAndRecover(editor, cause, /another process has held it for 10000 ms. Try again/);
  });
});

describe("a data folder of a newer Trunkline", { timeout: 600_000 }, () => {
  const NEWER = /it was made by a newer Trunkline. Use that one, or another data folder/;
  const FILES = ["sessions.sqlite", "reviews.db", "notifications.sqlite", "tasks.sqlite"];

  it("is refused in words by every door and command that uses it, and not changed", async () => {
    using home = new GuardedHome({ ...CONFIG, notifications: [{ command: ["true"] }] });
    mkdirSync(home.data, { mode: 0o700 });
    for (const file of FILES) {
      using database = new DatabaseSync(join(home.data, file));
      database.exec("CREATE TABLE later (x); PRAGMA user_version = 99");
    }
    const answer = async (door: string, ...messages: readonly object[]): Promise<string> => {
      await using program = home.start(door);
      for (const message of messages) program.write(message);
      await program.answers(messages.length);
      program.child.stdin.end();
      assert.equal(await program.exit, 0, program.stderr);
      return program.lines.at(-1) ?? "";
    };
    const call = (id: number, method: string, params: object) => ({
      ...{ jsonrpc: "2.0", id, method, params },
    });
    const listing = call(1, "tools/call", { name: "review_list", arguments: {} });
    assert.match(await answer("mcp", INITIALIZE, listing), NEWER);
    const opening = call(1, "session/new", { cwd: home.path, mcpServers: [] });
    assert.match(await answer("acp", opening), NEWER);
    for (const command of ["session list", "review list", "notification list", "chat hello"]) {
      const { code, err } = await home.run(...command.split(" "));
      assert.equal(code, 1);
      assert.match(err, NEWER, command);
    }
    {
      await using gateway = await home.serve();
      const { status, body } = await gateway.get("/api/sessions", gateway.owner);
      assert.equal(status, 503, body);
      assert.match(body, NEWER);
    }
    const { code, out } = await home.run("doctor", "--deep");
    assert.equal(code, 1);
    for (const file of FILES) {
      assert.match(out, new RegExp(`${file} was made by a newer Trunkline \\(version 99`));
      using database = new DatabaseSync(join(home.data, file));
      const [only, ...more] = database.prepare("SELECT name FROM sqlite_schema").all();
      assert.deepEqual([only?.name, more], ["later", []]);
    }
  });
});
