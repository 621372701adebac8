import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";

import { SeededRandom } from "../seeded-random.ts";
import { AcpLine } from "./acp-line.ts";
import type { Surroundings } from "./chaos-client.ts";
import { ChaosFleet } from "./chaos-fleet.ts";
import { ChaosPermission } from "./chaos-permission.ts";
import { ChaosForge, ChaosRun } from "./chaos-runs.ts";
import { ChaosSession } from "./chaos-session.ts";
import { ChaosWatcher } from "./chaos-watcher.ts";
import { Faults } from "./faults.ts";
import { leaveNothing } from "./left-behind.ts";
import { PoolView } from "./pool-view.ts";
import { differenceOf, faultsOf, Shown, textDifference } from "./shown.ts";
import { type Sizes, watchSizes } from "./sizes.ts";
import { type Takeover, Takeovers } from "./takeovers.ts";

export interface ChaosOptions {
  readonly sessions: number;
  /** How long nodes and NATS fail. */
  readonly seconds: number;
  readonly seed: number;
  readonly say?: (words: string) => void;
  /** Gets what a node has logged. */
  readonly logged?: (node: string, log: string) => void;
}

export interface ChaosResult {
  readonly faults: Readonly<Record<string, number>>;
  readonly turns: Readonly<Record<string, number>>;
  readonly permissions: { readonly finished: number; readonly askedAgain: number };
  /** Turns of remote runs, and those whose branch was pushed. */
  readonly runs: { readonly turns: number; readonly pushed: number };
  readonly events: number;
  readonly reconnects: number;
  /** What requests were refused with, and how often. */
  readonly refusals: Readonly<Record<string, number>>;
  readonly takeovers: readonly Takeover[];
  /** All sessions of workers that were hit, until another worker had taken them. */
  readonly claims: readonly (Takeover & { readonly timeline: string })[];
  readonly sizes: Sizes;
  readonly seconds: number;
}

/** One session in so many has a second client, asks for permissions, or is a remote run. */
const WATCHED = 10;
const ASKING = 40;
const RUNNING = 16;
/** Milliseconds of a takeover that is told. */
const SLOW = 7_000;
/** Milliseconds after which a session counts as lost. */
const LOST = 180_000;

/**
 * Many sessions stream in a fleet whose gateways, workers and NATS server fail at random. Throws if a
 * client was shown less, more or something else than the session has in the end, if a prompt ran twice,
 * if a question was forgotten, or if anything is left in the end.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const { sessions: count, seconds, seed, say = () => {} } = options;
  const begun = performance.now();
  const tell = (words: string): void => say(`${Math.round(performance.now() - begun)}: ${words}`);
  await using forge = await ChaosForge.start();
  const { settings } = forge;
  await using fleet = await ChaosFleet.start({
    ...{ gateways: 2, workers: 3, slots: count },
    ...settings,
  });
  await using pool = await PoolView.open(fleet.nats.url);
  using sizes = watchSizes(fleet);
  using clients = new Clients(fleet, forge, options);
  const state = { isOver: false, isClosed: false };
  const faults: Faults = new Faults(fleet, {
    random: new SeededRandom(seed),
    say: tell,
    hit: (fault) => {
      if (fault.node.role === "worker") takeovers.measure(fault);
    },
  });
  const takeovers = new Takeovers({
    ...{ fleet, pool, faults, cwd: fleet.folder },
    isClosed: () => state.isClosed,
    took: (takeover) => {
      const { session, fault, milliseconds, excuse = "counts" } = takeover;
      if (milliseconds < SLOW) return;
      const words = `${milliseconds} ms since ${fault.kind} ${fault.node.name}, ${session}`;
      tell(`open again after ${words} (${excuse}): ${takeovers.timeline(takeover)}`);
    },
  });
  try {
    const working = clients.work(() => state.isOver);
    const failed = working.then(
      () => undefined,
      (error: unknown) => new Error("A session failed", { cause: error }),
    );
    while (!clients.haveBegun) {
      const error = await Promise.race([failed, delay(50)]);
      if (error !== undefined) throw error;
    }
    tell(`${count} sessions are open`);
    const end = performance.now() + seconds * 1_000;
    await faults.run(() => performance.now() > end);
    await takeovers.ended();
    for (const node of fleet.of("worker")) await faults.kill(node, () => takeovers.ended());
    state.isOver = true;
    const late = delay(LOST, "late", { ref: false });
    if ((await Promise.race([working, late])) === "late") throw clients.notOver();
    tell("all turns have ended");
    const { events, wrong } = await clients.check();
    assert.deepEqual(wrong, [], `seed ${seed}`);
    forge.check(clients.runs);
    await clients.remove();
    await leaveNothing(fleet, pool);
    return {
      faults: faults.counts,
      ...clients.counts,
      events,
      takeovers: takeovers.all,
      claims: takeovers.claims.map((claim) => ({ ...claim, timeline: takeovers.timeline(claim) })),
      sizes: sizes.largest,
      seconds: Math.round((performance.now() - begun) / 1_000),
    };
  } catch (error) {
    const logs = fleet.nodes.map(({ name, log }) => `--- ${name}\n${log.slice(-1_000)}`);
    throw new Error(`${String(error)}\n${logs.join("\n")}`, { cause: error });
  } finally {
    state.isOver = state.isClosed = true;
    for (const { name, log } of fleet.nodes) options.logged?.(name, log);
  }
}

/** The clients of all sessions, and what they were shown. */
class Clients implements Disposable {
  readonly #around: Surroundings;
  readonly #random: SeededRandom;
  readonly #sessions: ChaosSession[] = [];
  readonly #asking: ChaosPermission[] = [];
  readonly runs: ChaosRun[] = [];
  readonly #watchers: ChaosWatcher[];
  readonly #refusals: Record<string, number> = {};

  constructor(fleet: ChaosFleet, forge: ChaosForge, { sessions: count, seed }: ChaosOptions) {
    const around: Surroundings = {
      cwd: fleet.folder,
      gateways: () => fleet.of("gateway").flatMap(({ address }) => address ?? []),
      refused: (words) => (this.#refusals[words] = (this.#refusals[words] ?? 0) + 1),
    };
    this.#around = around;
    // Chance of their own, so that the seed alone decides which faults come.
    this.#random = new SeededRandom(seed - 1);
    for (let at = 0; at < count; at++) {
      const random = new SeededRandom(seed + at + 1);
      if (at % ASKING === ASKING - 1) {
        this.#asking.push(new ChaosPermission(`s${at}`, around, random));
      } else if (at % RUNNING === RUNNING - 1) {
        this.runs.push(new ChaosRun(`s${at}`, forge, around, random));
      } else this.#sessions.push(new ChaosSession(`s${at}`, around, random));
    }
    this.#watchers = this.#sessions
      .filter((_, at) => at % WATCHED === 0)
      .map((session, at) => new ChaosWatcher(session, around, new SeededRandom(seed - at - 2)));
  }

  get haveBegun(): boolean {
    return this.#all.every(({ id }) => id !== "");
  }

  /** Until it is over, and then until each session has finished one more turn. */
  async work(isOver: () => boolean): Promise<void> {
    await Promise.all([
      ...this.#all.map((session) => session.work(isOver)),
      ...this.#watchers.map((watcher) => watcher.watch(isOver)),
    ]);
  }

  notOver(): Error {
    const left = this.#sessions.filter(({ turns }) => turns.at(-1)?.count !== 3);
    const running = this.runs.filter(({ turns }) => turns.at(-1)?.run === undefined);
    const names = [...left, ...running].map(
      ({ name, id, turns }) => `${name} ${id} ${JSON.stringify(turns.at(-1))}`,
    );
    return new Error(`Not over: ${names.join("; ")}\n${JSON.stringify(this.#refusals)}`);
  }

  get counts(): Pick<ChaosResult, "turns" | "permissions" | "runs" | "reconnects" | "refusals"> {
    const turns: Record<string, number> = {};
    for (const { end = "" } of this.#sessions.flatMap((each) => each.turns)) {
      turns[end] = (turns[end] ?? 0) + 1;
    }
    const sum = (of: (session: ChaosPermission) => number): number =>
      this.#asking.reduce((all, session) => all + of(session), 0);
    return {
      turns,
      permissions: {
        finished: sum(({ finished }) => finished),
        askedAgain: sum(({ askedAgain }) => askedAgain),
      },
      runs: {
        turns: this.runs.flatMap((run) => run.turns).length,
        pushed: this.runs.flatMap((run) => run.turns).filter(({ run }) => run !== undefined).length,
      },
      reconnects: this.#all.reduce((all, { client }) => all + client.reconnects, 0),
      refusals: this.#refusals,
    };
  }

  /** Compares what clients were shown with what the sessions have now. */
  async check(): Promise<{ readonly events: number; readonly wrong: string[] }> {
    let events = 0;
    const wrong: string[] = [];
    for (const session of this.#sessions) {
      const { id, name, turns, client } = session;
      const loaded = await this.#load(id);
      events += loaded.last;
      const found = [...faultsOf(loaded, turns), ...differenceOf(client.shown, loaded, turns)];
      for (const { client: other } of this.#watchers.filter((each) => each.session === session)) {
        await this.#watched(other.id, loaded.last);
        found.push(...differenceOf(other.shown, loaded, []).map((words) => `a watcher ${words}`));
      }
      if (found.length > 0) found.push(client.shown.notes);
      wrong.push(...found.map((words) => `${name} ${id}: ${words}`));
    }
    for (const { name, id, faults, finished } of this.#asking) {
      wrong.push(...faults.map((words) => `${name} ${id}: ${words}`));
      if (finished === 0) wrong.push(`${name} ${id}: nothing was permitted`);
    }
    for (const { name, id, client } of [...this.#asking, ...this.runs]) {
      const loaded = await this.#load(id);
      events += loaded.last;
      const found = textDifference(client.shown, loaded);
      if (found.length > 0) found.push(client.shown.notes);
      wrong.push(...found.map((words) => `${name} ${id}: ${words}`));
    }
    return { events, wrong };
  }

  /** Deletes all sessions. */
  async remove(): Promise<void> {
    using line = await this.#connect(() => {});
    // Also those that no client knows, because their gateway was lost before it had answered.
    for (;;) {
      const { result } = await line.ask("session/list", {}, LOST);
      if (result.sessions.length === 0) return;
      for (const { sessionId } of result.sessions) {
        const { error } = await line.ask("session/delete", { sessionId }, LOST);
        assert.equal(error, undefined, JSON.stringify(error));
      }
    }
  }

  [Symbol.dispose](): void {
    for (const client of [...this.#all, ...this.#watchers]) client[Symbol.dispose]();
  }

  get #all(): (ChaosSession | ChaosPermission | ChaosRun)[] {
    return [...this.#sessions, ...this.#asking, ...this.runs];
  }

  /** Waits until the second client of a session has seen an event. */
  async #watched(id: string, event: number): Promise<void> {
    await this.#watchers.find(({ session }) => session.id === id)?.until(event);
  }

  /** What a client that comes now is shown of a session. */
  async #load(id: string): Promise<Shown> {
    const shown = new Shown();
    using line = await this.#connect((message) => shown.take(message));
    const params = { sessionId: id, cwd: this.#around.cwd, mcpServers: [] };
    const { error } = await line.ask("session/load", params, LOST);
    assert.equal(error, undefined, JSON.stringify(error));
    return shown;
  }

  async #connect(told: Parameters<typeof AcpLine.connect>[2]): Promise<AcpLine> {
    const { acp, headers } = this.#random.pick(this.#around.gateways());
    return await AcpLine.connect(acp, headers, told);
  }
}
