import assert from "node:assert/strict";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { SessionRules } from "../../store/session/session-rules.ts";
import { SessionUsage } from "../../store/session/session-usage.ts";

const EVENTS = [
  { kind: "prompt", turnId: "t1", prompt: [{ type: "text", text: "Do it" }], by: "zed" },
  {
    kind: "prompt",
    turnId: "t1",
    prompt: [{ type: "text", text: "Soon" }],
    by: "zed",
    steers: true,
  },
  { kind: "end", turnId: "t1", stopReason: "end_turn" },
];

/** Sessions `aaaa1` of the project and `aaaa2` of another folder, both with a turn. */
async function setUp(): Promise<SampleCommandLine> {
  const line = await SampleCommandLine.create();
  await using log = await SessionLog.open(line.home.data);
  for (const [id, cwd] of [
    ["aaaa1", line.home.project],
    ["aaaa2", line.home.path],
  ] as const) {
    const { key } = await log.create({ id, cwd, agent: "trunkline", title: "Do it", notes: {} });
    for (const event of EVENTS) log.append(key, "client", JSON.stringify(event));
    await log.flush();
    await log.release(key);
  }
  return line;
}

describe("trunkline session", () => {
  it("imports nothing from the built-in agent, whose sessions are here already", async () => {
    await using line = await setUp();
    const { code, err } = await line.run("session", "import", "x", "--agent", "trunkline");
    assert.equal(code, 1);
    assert.match(err, /^trunkline: Cannot load session 'x': the built-in agent has no other/);
    const { sessions } = await line.json<{ sessions: object[] }>("session", "list");
    assert.equal(sessions.length, 2, "nothing is left of it");
  });

  it("attaches only to an address that a gateway can have, as chat does", async () => {
    await using line = await setUp();
    const { code, err } = await line.run("session", "attach", "aaaa1", "--url", "nowhere");
    assert.equal(code, 2);
    assert.match(err, /^trunkline: Cannot use 'nowhere' as a server: give a URL such as wss:/);
  });

  it("lists all sessions, or those of a folder", async () => {
    await using line = await setUp();
    const listed = async (...args: string[]) => {
      const found = await line.json<{ sessions: { id: string }[] }>("session", "list", ...args);
      return found.sessions.map(({ id }) => id).toSorted();
    };
    assert.deepEqual(await listed(), ["aaaa1", "aaaa2"]);
    assert.deepEqual(await listed("--folder", "."), ["aaaa1"]);
  });

  it("shows a session, and does not count text that joins a turn as another turn", async () => {
    await using line = await setUp();
    type Shown = { turns: number; events: number; lastTurn: string };
    const { turns, events, lastTurn } = await line.json<Shown>("session", "show", "aaaa1");
    assert.deepEqual([turns, events, lastTurn], [1, 3, "end_turn"]);
    assert.match((await line.run("session", "show", "aaaa1")).out, /^id +aaaa1\n/);
  });

  it("shows what a session has used, and of how much", async () => {
    await using line = await setUp();
    {
      await using log = await SessionLog.open(line.home.data);
      const amounts = { tokens: 1_500, cost: 0, steps: 3, time: 61 };
      const turn = { turn: "t1", session: "aaaa1", principal: "", day: "2026-03-01" };
      await new SessionUsage(log.database).note({ ...turn, ...amounts, reportedCost: undefined });
    }
    const set = ["--set", "sessions.budget.tokens=2000"];
    const { out } = await line.run("session", "show", "aaaa1", ...set);
    assert.match(out, /^used +1,500 of 2,000 tokens, 3 steps, 61 seconds$/m);
    const shown = await line.json<{ budget: object }>("session", "show", "aaaa1", ...set);
    assert.deepEqual(shown.budget, { tokens: 2_000 });
  });

  it("tells of a remote run that is not open whether it is closed or hibernated", async () => {
    await using line = await setUp();
    {
      await using log = await SessionLog.open(line.home.data);
      for (const [id, isAway] of [
        ["bbbb1", false],
        ["cccc1", true],
      ] as const) {
        const folder = join(line.home.data, "run/work", id);
        await mkdir(folder, { recursive: true });
        await writeFile(join(folder, "workspace.json"), JSON.stringify({ isAway }));
        const notes = { run: { workspace: id } };
        const session = { id, cwd: join(folder, "tree"), agent: "goose", title: "Run it", notes };
        const { key } = await log.create(session);
        await log.release(key);
      }
    }
    const { out } = await line.run("session", "list");
    assert.match(out, /^bbbb1 .* closed +goose/m);
    assert.match(out, /^cccc1 .* hibernated +goose/m);
    assert.doesNotMatch(out, /^aaaa1 .* (?:closed|hibernated)/m);
  });

  it("finds a session by the beginning of its id, where that is enough", async () => {
    await using line = await setUp();
    assert.equal((await line.run("session", "show", "aaaa")).code, 1);
    assert.match((await line.run("session", "show", "aaaa")).err, /2 sessions/);
    assert.equal((await line.run("session", "replay", "aaaa2")).out, "> Do it\n> Soon\n");
  });

  it("replays the events after a number, and refuses anything else", async () => {
    await using line = await setUp();
    const { out } = await line.run("session", "replay", "aaaa1", "--after", "2", "--json");
    assert.equal((JSON.parse(out) as { seq: number }).seq, 3);
    for (const number of ["-1", "1.5", "", "two"]) {
      const refused = await line.run("session", "replay", "aaaa1", `--after=${number}`);
      assert.equal(refused.code, 2, number);
    }
  });

  it("exports Markdown in which each prompt is a quotation", async () => {
    await using line = await setUp();
    const { out } = await line.run("session", "export", "aaaa1", "--format", "markdown");
    assert.equal(out, "# Do it\n\n> Do it\n\n\n> Soon\n\n");
  });

  it("exports no secret, in no format", async () => {
    await using line = await SampleCommandLine.create({
      mcpServers: { a: { command: "a", env: { A_TOKEN: "configured-value" } } },
    });
    const secret = `ghp_${"a1".repeat(18)}`;
    await using log = await SessionLog.open(line.home.data);
    const record = {
      id: "aaaa3",
      cwd: line.home.path,
      agent: "a",
      title: `Use ${secret}`,
      notes: {},
    };
    const { key } = await log.create(record);
    const prompt = [{ type: "text", text: `Use ${secret} and configured-value` }];
    const event = { kind: "prompt", turnId: "t1", prompt, by: "zed" };
    log.append(key, "client", JSON.stringify(event));
    await log.flush();
    await log.release(key);
    for (const format of ["json", "markdown"]) {
      const { out } = await line.run("session", "export", "aaaa3", "--format", format);
      assert.match(out, /Use ••• and •••/, format);
      assert.doesNotMatch(out, /ghp_|configured-value/, format);
    }
  });

  it("deletes the sessions it finds, and stops at the first unknown one", async () => {
    await using line = await setUp();
    const { code, out } = await line.run("session", "delete", "aaaa1", "nope", "aaaa2");
    assert.deepEqual([code, out], [1, "Deleted aaaa1.\n"]);
    const { out: left } = await line.run("session", "list");
    assert.match(left, /^aaaa2 /m);
    assert.doesNotMatch(left, /aaaa1/);
  });
});

describe("trunkline session permission", () => {
  it("lists what is always allowed, and revokes it once", async () => {
    await using line = await setUp();
    const { project: workspace } = line.home;
    {
      await using log = await SessionLog.open(line.home.data);
      const rules = new SessionRules(log.database);
      await rules.add({
        workspace,
        subject: '{"action":"edit"}',
        decision: "allow",
        by: "zed",
        session: "aaaa1",
        principal: "",
      });
    }
    const { out } = await line.run("session", "permission");
    assert.equal(out, `   1  allow   edit files  in ${workspace} (zed)\n`);
    assert.equal((await line.run("session", "permission", "--folder", "/other")).out, "");
    const revoked = await line.run("session", "permission", "--revoke", "1");
    assert.equal(revoked.out, "Revoked permission 1. Agents will ask again.\n");
    const again = await line.run("session", "permission", "--revoke", "1");
    assert.equal(again.code, 1);
    assert.match(again.err, /Cannot revoke permission '1': no such permission/);
    const none = await line.run("session", "permission");
    assert.equal(none.err, "There are no lasting permissions.\n");
  });
});
