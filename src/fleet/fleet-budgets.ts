import { createHash } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";

import { jetstream, jetstreamManager } from "@nats-io/jetstream";
import { type KV, Kvm } from "@nats-io/kv";

import { background } from "../base/background.ts";
import { isObject, objectIn } from "../base/check.ts";
import { TrunklineError } from "../base/errors.ts";
import { Lazy } from "../base/lazy.ts";
import { type Amounts, amountsBy, NOTHING_USED, plus } from "../base/limit/budget.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import type { BudgetPool, PoolAccount, PoolShare } from "../session/budget/budgets.ts";
import type { FleetConnection } from "./connection/connect.ts";
import { OutdatedError, toProtocolError } from "./ownership/session-entry.ts";
import { budgetStream } from "./store/session-streams.ts";
import { ensureStream } from "./stream-reader.ts";

/** Milliseconds until an answer of NATS counts as lost. */
const TIMEOUT = 3_000;
/** A worker reserves a tenth of what is left at a time, and no less than a hundredth of the budget. */
const [OF_LEFT, OF_ALL] = [0.1, 0.01];
/** Milliseconds in which another worker must have opened its session. */
const PATIENCE = 10_000;
const LOOK_EVERY = 50;

export interface FleetBudgetsOptions {
  readonly connection: FleetConnection;
  /** The stable id of this node. */
  readonly node: string;
  /** The id under which this process holds sessions. */
  readonly holder: string;
  readonly isAlive: (holder: string) => boolean;
}

/** The usage of one worker in an account, and how far it may go before it reserves more. */
interface WorkerUsage {
  readonly used: Amounts;
  readonly upTo: Amounts;
}

interface Entry {
  /** By the stable ids of nodes. */
  readonly nodes: Readonly<Record<string, WorkerUsage>>;
  readonly reportedCost?: number | undefined;
}

interface OwnAccount {
  account: PoolAccount;
  readonly turns: Set<string>;
  share: PoolShare;
}

/**
 * The budgets of a pool, in a bucket of NATS with an entry for each. A worker writes there what it has
 * reserved before it spends it, only after the revision that it has read. So all together reserve no more
 * than there is; what a killed worker had reserved counts as used.
 */
export class FleetBudgets implements BudgetPool {
  readonly #options: FleetBudgetsOptions;
  readonly #bucket = new Lazy(() => this.#open());
  readonly #own = new Map<string, OwnAccount>();
  readonly #queue = new TaskQueue();

  constructor(options: FleetBudgetsOptions) {
    this.#options = options;
  }

  async settle(account: PoolAccount): Promise<PoolShare> {
    const { key, turn, isOver, used, reportedCost } = account;
    const own: OwnAccount = this.#own.get(key) ?? {
      account,
      turns: new Set(),
      share: nothingOf(account),
    };
    this.#own.set(key, own);
    if (isOver) own.turns.delete(turn);
    else own.turns.add(turn);
    const before = own.account;
    // An earlier report may arrive later.
    const most = amountsBy((amount) => Math.max(used[amount], before.used[amount]));
    own.account = { ...account, used: most, reportedCost: reportedCost ?? before.reportedCost };
    try {
      await this.#queue.run(() => this.#tell(own), key);
    } catch (error) {
      const why = error instanceof Error ? error.message.replace(/\.$/, "") : String(error);
      own.share = { ...own.share, why: `this worker can reserve no more: ${why}` };
      const giveBack = async (): Promise<void> => {
        if (own.turns.size === 0) await this.#queue.run(() => this.#tell(own), key);
      };
      if (own.turns.size === 0)
        background(this.#untilDone(giveBack), "Giving back what was reserved");
    }
    return own.share;
  }

  async alone<T>(owner: string, work: () => Promise<T>): Promise<T> {
    const { holder, isAlive } = this.#options;
    const key = keyOf(`room ${owner}`);
    const deadline = performance.now() + PATIENCE;
    await this.#change(key, async (text) => {
      if (text === "" || text === holder || !isAlive(text)) return holder;
      if (performance.now() < deadline) return undefined;
      const why = "another worker has been opening one for the same client for too long";
      throw new TrunklineError("unavailable", `Cannot open the session: ${why}. Try again.`);
    });
    try {
      return await work();
    } finally {
      const leave = (): Promise<void> =>
        this.#change(key, async (text) => (text === holder ? "" : text));
      await leave().catch(() => background(this.#untilDone(leave), "Letting others open sessions"));
    }
  }

  async #tell(own: OwnAccount): Promise<void> {
    const { node } = this.#options;
    await this.#change(keyOf(own.account.key), async (text) => {
      const { budget, used } = own.account;
      const { nodes, ...known } = readEntry(text);
      const { [node]: _, ...others } = nodes;
      const all = Object.values(others);
      const elsewhere = all.reduce((sum, each) => plus(sum, each.used), NOTHING_USED);
      const taken = all.reduce((sum, each) => plus(sum, each.upTo), NOTHING_USED);
      const isRunning = own.turns.size > 0;
      const more = amountsBy((amount) => {
        const limit = budget[amount];
        if (limit === undefined || !isRunning) return 0;
        const left = Math.max(0, limit - taken[amount] - used[amount]);
        const share = Math.max(left * OF_LEFT, limit * OF_ALL);
        return Math.min(left, amount === "cost" ? share : Math.ceil(share));
      });
      const reportedCost = own.account.reportedCost ?? known.reportedCost;
      const upTo = plus(used, more);
      own.share = {
        elsewhere,
        upTo: amountsBy((amount) => (budget[amount] === undefined ? Infinity : upTo[amount])),
        why: "other workers have reserved the rest for turns that run there. Try again later",
        reportedCost,
      };
      return JSON.stringify({ nodes: { ...others, [node]: { used, upTo } }, reportedCost });
    });
    const { key } = own.account;
    if (own.turns.size === 0 && this.#own.get(key) === own) this.#own.delete(key);
  }

  async #untilDone(work: () => Promise<void>): Promise<void> {
    const { nats, pause } = this.#options.connection;
    for (let attempt = 1; !nats.isClosed(); attempt++) {
      await pause(attempt);
      try {
        return await work();
      } catch {
        // NATS is still away.
      }
    }
  }

  /** Replaces a text, also where others do it at once. `next` gives undefined to look again later. */
  async #change(key: string, next: (text: string) => Promise<string | undefined>): Promise<void> {
    const { connection } = this.#options;
    const bucket = await connection.ask(() => this.#bucket.get());
    for (;;) {
      const found = await connection.ask(() => bucket.get(key));
      const text = await next(found?.operation === "PUT" ? found.string() : "");
      try {
        const previousSeq = found?.revision ?? 0;
        if (text !== undefined) {
          await connection.ask(() => bucket.put(key, text, { previousSeq }));
          return;
        }
      } catch (error) {
        const why = toProtocolError(error);
        if (!(why instanceof OutdatedError)) throw why;
      }
      await delay(LOOK_EVERY * Math.random());
    }
  }

  async #open(): Promise<KV> {
    const { nats, subjects } = this.#options.connection;
    const client = jetstream(nats, { timeout: TIMEOUT });
    const manager = await jetstreamManager(nats, { timeout: TIMEOUT, checkAPI: false });
    await ensureStream(manager, budgetStream(subjects));
    // The leader answers, which knows every write that was acknowledged.
    return await new Kvm(client).open(subjects.budgets, { allow_direct: false });
  }
}

/** The share before anything is reserved. */
function nothingOf({ budget }: PoolAccount): PoolShare {
  const upTo = amountsBy((amount) => (budget[amount] === undefined ? Infinity : 0));
  return { elsewhere: NOTHING_USED, upTo, why: "" };
}

function keyOf(name: string): string {
  return createHash("sha256").update(name).digest("base64url");
}

/** The entry may have been written by anybody. */
function readEntry(text: string): Entry {
  const { nodes, reportedCost }: Partial<Entry> = objectIn(text) ?? {};
  const read = (use: unknown): WorkerUsage => {
    const { used, upTo } = isObject(use) ? use : {};
    const known = amountsOf(used);
    return { used: known, upTo: amountsBy((it) => Math.max(known[it], amountsOf(upTo)[it])) };
  };
  return {
    nodes: Object.fromEntries(Object.entries(nodes ?? {}).map(([id, use]) => [id, read(use)])),
    ...(typeof reportedCost === "number" && { reportedCost }),
  };
}

function amountsOf(value: unknown): Amounts {
  const given = isObject(value) ? value : {};
  const read = (it: unknown): number => (typeof it === "number" ? Math.max(0, it) || 0 : 0);
  return amountsBy((amount) => read(given[amount]));
}
