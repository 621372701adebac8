import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { OWNER } from "../../base/principal.ts";
import type { Agent, ForeignPage, ForeignQuery } from "../agent.ts";
import type { SessionRecord } from "../store.ts";
import {
  foreignId,
  type ForeignOptions,
  ForeignSessions,
  readForeignId,
} from "./foreign-sessions.ts";

describe("foreignId()", () => {
  it("says which session of which agent it is, in characters that any file name can have", () => {
    for (const name of [
      { agent: "claude", id: "0197-ab" },
      { agent: "my agent/x", id: '../../etc\n"passwd"' },
      { agent: "ä", id: "セッション" },
    ]) {
      const id = foreignId(name) ?? "";
      assert.match(id, /^agent\.[A-Za-z0-9_-]+$/);
      assert.ok(id.length < 250);
      assert.deepEqual(readForeignId(id), name);
    }
  });

  it("has none for an id that is empty or too long", () => {
    assert.equal(foreignId({ agent: "a", id: "" }), undefined);
    assert.equal(foreignId({ agent: "a", id: "x".repeat(200) }), undefined);
  });
});

describe("readForeignId()", () => {
  it("takes no other id for one", () => {
    const encode = (value: unknown) =>
      `agent.${Buffer.from(JSON.stringify(value)).toString("base64url")}`;
    for (const id of [
      "b1946ac9-2492-4d23-8f7a-000000000000",
      "agent.",
      "agent.####",
      "agent.e30",
      encode(["a", ""]),
      encode(["a", 1]),
      `agent.${"A".repeat(2_000)}`,
    ]) {
      assert.equal(readForeignId(id), undefined, id);
    }
  });
});

const TOKEN = { id: "token-1" };

function agent(name: string, list?: (query: ForeignQuery) => Promise<ForeignPage>): Agent {
  return { name, open: () => assert.fail("not opened"), ...(list ? { list } : {}) };
}

function setUp(agents: readonly Agent[], options: Partial<ForeignOptions> = {}) {
  return new ForeignSessions({
    store: { list: async () => [] },
    agent: async (name) => agents.find((one) => one.name === name) ?? assert.fail(`no '${name}'`),
    names: agents.map(({ name }) => name),
    allows: "owner",
    ...options,
  });
}

const page = (...ids: string[]): ForeignPage => ({
  sessions: ids.map((id) => ({ id, cwd: "/w" })),
});

describe("ForeignSessions", () => {
  it("lists the sessions of all agents, and says which gave no list", async () => {
    const sessions = setUp([
      agent("one", async () => page("a")),
      agent("two", () => Promise.reject(new Error("not installed"))),
      agent("three"),
    ]);
    const { sessions: found, problems } = await sessions.list({ principal: OWNER });
    assert.deepEqual(
      found.map(({ agent: by, theirs, id }) => [by, theirs, id]),
      [["one", "a", foreignId({ agent: "one", id: "a" })]],
    );
    assert.deepEqual(problems, [{ agent: "two", message: "not installed" }]);
  });

  it("reads all pages of each agent, unless they never end", async () => {
    const asked: (string | undefined)[] = [];
    const sessions = setUp([
      agent("one", async ({ cursor }) => {
        asked.push(cursor);
        return cursor === undefined ? { ...page("a"), nextCursor: "x" } : page("b");
      }),
      agent("two", async () => ({ ...page("c"), nextCursor: "y" })),
    ]);
    const { sessions: found } = await sessions.list({ principal: OWNER });
    const all = found.map(({ theirs }) => theirs);
    assert.deepEqual(all.slice(0, 3), ["a", "b", "c"]);
    assert.equal(all.length, 52);
    assert.deepEqual(asked, [undefined, "x"]);
  });

  it("leaves out those that are ours: we began them, or have taken them over", async () => {
    const memory = { sessionId: "ours" };
    const record = { agent: "one", notes: { memory } } as unknown as SessionRecord;
    const sessions = setUp([agent("one", async () => page("ours", "theirs"))], {
      store: { list: async () => [record] },
    });
    const { sessions: found } = await sessions.list({ principal: OWNER });
    assert.deepEqual(
      found.map(({ theirs }) => theirs),
      ["theirs"],
    );
  });

  it("is for the owner, unless it is allowed to others or turned off", async () => {
    const agents = [agent("one", async () => page("a"))];
    const id = foreignId({ agent: "one", id: "a" }) ?? "";
    const refused = setUp(agents).list({ principal: TOKEN });
    await assert.rejects(refused, /only for the owner \(`sessions.foreign`/);
    assert.equal(setUp(agents).isOpenToAll(id), false);
    const all = setUp(agents, { allows: "all" });
    assert.equal((await all.list({ principal: TOKEN })).sessions.length, 1);
    assert.deepEqual([all.isOpenToAll(id), all.isOpenToAll("other")], [true, false]);
    const off = setUp(agents, { allows: "off" });
    await assert.rejects(off.list({ principal: OWNER }), /are off/);
  });

  it("asks only the agents that are named", async () => {
    const sessions = setUp([
      agent("one", () => assert.fail("not asked")),
      agent("two", async () => page("b")),
    ]);
    const { problems } = await sessions.list({ principal: OWNER, agents: ["two"] });
    assert.deepEqual(problems, []);
  });
});
