import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import { AcpApp } from "../../test/support/acp-app.ts";
import { connectTo } from "../../test/support/fleet-node.ts";
import { NatsServer, noNats } from "../../test/support/nats-server.ts";
import { promptText } from "../../test/support/scripted-agent.ts";
import { until } from "../../test/support/until.ts";
import { Log } from "../base/log.ts";
import { type Amounts, type Budget, NOTHING_USED } from "../base/limit/budget.ts";
import type { Principal } from "../base/principal.ts";
import { Budgets, type PoolAccount } from "../session/budget/budgets.ts";
import { SessionRoom } from "../session/sessions.ts";
import type { FleetConnection } from "./connection/connect.ts";
import { FleetBudgets } from "./fleet-budgets.ts";

const TOKEN: Principal = { id: "token a", name: "a", scopes: ["sessions"], limits: {} };
const NO_BUDGETS = {
  ...{ session: {}, day: {}, log: new Log("error", () => {}) },
  store: {
    note: async () => {},
    ofSession: async () => ({ ...NOTHING_USED, reportedCost: undefined }),
    ofDay: async () => NOTHING_USED,
  },
};
const tokens = (count: number): Amounts => ({ ...NOTHING_USED, tokens: count });

function account(key: string, turn: string, used: number, more: Partial<PoolAccount> = {}) {
  return { key, budget: { tokens: 1_000 }, turn, isOver: false, used: tokens(used), ...more };
}

/** What a worker has of a fleet's budgets, and a way to cut it off. */
interface BudgetWorker extends AsyncDisposable {
  readonly pool: FleetBudgets;
  readonly connection: FleetConnection;
}

describe("FleetBudgets", { skip: noNats, timeout: 600_000 }, () => {
  let nats: NatsServer;
  before(async () => {
    nats = await NatsServer.start();
  });
  after(() => nats[Symbol.asyncDispose]());

  const dead = new Set<string>();
  async function worker(node: string): Promise<BudgetWorker> {
    const connection = await connectTo(nats.url, node);
    const isAlive = (id: string): boolean => !dead.has(id);
    const pool = new FleetBudgets({ connection, node, holder: node, isAlive });
    const end = () => connection[Symbol.asyncDispose]();
    return { pool, connection, [Symbol.asyncDispose]: end };
  }

  /** Sessions of a worker whose agent uses as many tokens as the prompt says, or as is `told` meanwhile. */
  async function app(pool: FleetBudgets, day: Budget, told?: AsyncIterable<number>) {
    return await AcpApp.open({
      budgets: { day, pool },
      script: async (turn) => {
        const text = promptText(turn);
        const report = (used: number) =>
          turn.update({ sessionUpdate: "usage_update", used, size: 1_000_000 });
        if (text !== "told") await report(Number(text));
        else for await (const used of told ?? []) await report(used);
        return { stopReason: turn.signal.aborted ? "cancelled" : "end_turn" };
      },
    });
  }

  async function client(of: AcpApp, token: string) {
    const connected = of.connect({}, { ...TOKEN, id: token });
    await connected.initialize();
    const { sessionId } = await connected.ask("session/new", { cwd: "/tmp", mcpServers: [] });
    return { ask: (text: string) => connected.prompt(String(sessionId), text), connected };
  }

  it("count what a token uses at all workers", async () => {
    await using one = await worker("w1");
    await using other = await worker("w2");
    await using first = await app(one.pool, { tokens: 1_000 });
    await using second = await app(other.pool, { tokens: 1_000 });
    const here = await client(first, "token all");
    const there = await client(second, "token all");
    await here.ask("600");
    const { _meta } = await there.ask("300");
    assert.deepEqual(_meta.trunkline.budget.day.tokens, { used: 900, limit: 1_000 });
    await here.ask("200");
    const refused = /1,100 of 1,000 tokens of today's budget are used\. It resets at/;
    await assert.rejects(here.ask("1"), refused);
    await assert.rejects(there.ask("1"), refused);
  });

  it("reserve no more than there is, whoever asks at once, and give back what is not needed", async () => {
    const stack = new AsyncDisposableStack();
    await using _ends = stack;
    const workers = await Promise.all(
      ["a", "b", "c", "d"].map(async (name) => stack.use(await worker(name))),
    );
    const shares = await Promise.all(
      workers.flatMap(({ pool }) =>
        [1, 2, 3].map((turn) => pool.settle(account("busy", `${turn}`, 150))),
      ),
    );
    const most = Math.max(...shares.map(({ upTo }) => upTo.tokens));
    assert.ok(most > 150, "somebody has reserved something");
    const last = await Promise.all(
      workers.map(({ pool }) => pool.settle(account("busy", "1", 150))),
    );
    const all = last.reduce((sum, { upTo }) => sum + upTo.tokens, 0);
    assert.ok(all > 600 && all <= 1_000, String(all));
    for (const { pool } of workers) {
      for (const turn of ["1", "2", "3"]) {
        await pool.settle(account("busy", turn, 150, { isOver: true }));
      }
    }
    await using later = await worker("e");
    const share = await later.pool.settle(account("busy", "1", 390));
    assert.deepEqual([share.elsewhere.tokens, share.upTo.tokens], [600, 400]);
    const [first] = workers;
    const none = await first?.pool.settle(account("busy", "4", 150));
    assert.equal(none?.upTo.tokens, 150);
    assert.match(none?.why ?? "", /^other workers have reserved the rest/);
  });

  it("count what a killed worker had reserved, until it is back", async () => {
    const killed = await worker("k1");
    const reserved = await killed.pool.settle(account("killed", "1", 0));
    await killed[Symbol.asyncDispose]();
    await using other = await worker("k2");
    const share = await other.pool.settle(account("killed", "1", 900));
    assert.deepEqual([reserved.upTo.tokens, share.upTo.tokens], [100, 900]);
    await using back = await worker("k1");
    await back.pool.settle(account("killed", "1", 20, { isOver: true }));
    assert.ok((await other.pool.settle(account("killed", "1", 900))).upTo.tokens > 900);
  });

  it("let a turn use what its worker has reserved while NATS is away, and no more", async () => {
    await using one = await worker("n1");
    async function* told() {
      await nats.kill();
      await until(() => !one.connection.isConnected);
      yield 50;
      yield 99;
      // The turn goes on until now.
      assert.ok(!here.connected.text.includes("Stopped"));
      yield 120;
      await until(() => here.connected.text.includes("Stopped"));
    }
    await using home = await app(one.pool, { tokens: 1_000 }, told());
    const here = await client(home, "token away");
    assert.equal((await here.ask("told")).stopReason, "max_tokens");
    const words =
      /120 of 1,000 tokens of today's budget are used, and this worker can reserve no more: There is no connection to NATS/;
    assert.match(here.connected.text, words);
    await assert.rejects(here.ask("1"), words);
    await nats.restart();
    await until(() => one.connection.isConnected);
    assert.equal((await here.ask("10")).stopReason, "end_turn");
    // What was used meanwhile is told now.
    await using other = await worker("n2");
    await using elsewhere = await app(other.pool, { tokens: 1_000 });
    const { _meta } = await (await client(elsewhere, "token away")).ask("1");
    assert.equal(_meta.trunkline.budget.day.tokens.used, 131);
  });

  it("give back what was reserved when NATS is there again", async () => {
    await using one = await worker("b1");
    await using other = await worker("b2");
    await one.pool.settle(account("back", "1", 0));
    await nats.kill();
    await until(() => !one.connection.isConnected);
    await one.pool.settle(account("back", "1", 20, { isOver: true }));
    await nats.restart();
    await until(async () => (await other.pool.settle(account("back", "2", 900))).upTo.tokens > 900);
  });

  it("know at any worker what the agent of a session has reported", async () => {
    await using one = await worker("r1");
    await using other = await worker("r2");
    await one.pool.settle(account("session s", "1", 20, { isOver: true, reportedCost: 0.5 }));
    const { elsewhere, reportedCost } = await other.pool.settle(account("session s", "2", 0));
    assert.deepEqual([elsewhere.tokens, reportedCost], [20, 0.5]);
  });

  it("let one worker at a time open a session of an owner, and the next if that one was killed", async () => {
    await using one = await worker("s1");
    await using other = await worker("s2");
    const ann: string[] = [];
    const opened = [one, other].map(async ({ pool, connection }) => {
      const { alone } = new Budgets({ ...NO_BUDGETS, pool });
      const openOf = async () => ann;
      const room = new SessionRoom({
        ...{ limitOf: () => 1, openOf, open: new Map(), putAway: async () => {} },
        ...(alone && { alone }),
      });
      await room.take(TOKEN, async () => {
        // Some messages: this is what takes time when a session is opened.
        for (let at = 0; at < 20; at++) await connection.nats.flush();
        ann.push(TOKEN.id);
      });
    });
    const results = (await Promise.allSettled(opened)).map(({ status }) => status);
    assert.deepEqual(results.toSorted(), ["fulfilled", "rejected"]);
    const stuck = Promise.withResolvers<void>();
    const waiting = one.pool.alone("ann", () => stuck.promise);
    dead.add("s1");
    assert.equal(await other.pool.alone("ann", async () => "open"), "open");
    stuck.resolve();
    await waiting;
  });
});
