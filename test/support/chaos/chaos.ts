import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

import { processesWhere } from "../processes.ts";
import { SeededRandom } from "../seeded-random.ts";
import { AcpLine, LineLost } from "./acp-line.ts";
import { ChaosFleet } from "./chaos-fleet.ts";
import { ChaosSession, faultsOf, Shown, type Surroundings } from "./chaos-session.ts";
import { type Fault, Faults } from "./faults.ts";
import { PoolView } from "./pool-view.ts";
import { type Sizes, watchSizes } from "./sizes.ts";

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
  readonly events: number;
  readonly reconnects: number;
  /** What requests were refused with, and how often. */
  readonly refusals: Readonly<Record<string, number>>;
  /** Milliseconds of takeovers of a killed worker's sessions, while nothing else failed. */
  readonly takeovers: readonly number[];
  /** The same while other nodes failed too, without the time in which NATS was away. */
  readonly overlapping: readonly number[];
  /** Consumers and waiting requests in NATS after all sessions were deleted and all nodes stopped. */
  readonly left: Readonly<Record<string, number>>;
  readonly sizes: Sizes;
  readonly seconds: number;
}

/** Sessions of a worker that was hit whose takeover is measured. */
const MEASURED = 3;
/** Milliseconds of a takeover that is told. */
const SLOW = 7_000;
/** Milliseconds after which a session counts as lost. */
const LOST = 120_000;

const INTERRUPTION = /\n\n\[This turn was interrupted: [^\]]*\]\n\n/g;

/**
 * Many sessions stream in a fleet whose gateways, workers and NATS server fail at random. Throws if a
 * client was shown less, more or something else than the session has in the end, or if a prompt ran twice.
 */
export async function chaos(options: ChaosOptions): Promise<ChaosResult> {
  const { sessions: count, seconds, seed, say = () => {} } = options;
  const random = new SeededRandom(seed);
  const begun = performance.now();
  await using fleet = await ChaosFleet.start({ gateways: 2, workers: 3, slots: count });
  await using pool = await PoolView.open(fleet.nats.url);
  using sizes = watchSizes(fleet);
  const refusals: Record<string, number> = {};
  const around: Surroundings = {
    cwd: fleet.folder,
    gateways: () => fleet.of("gateway").flatMap(({ address }) => address ?? []),
    refused: (words) => (refusals[words] = (refusals[words] ?? 0) + 1),
  };
  const sessions = Array.from(
    { length: count },
    (_, at) => new ChaosSession(`s${at}`, around, new SeededRandom(seed + at + 1)),
  );
  const state = { isOver: false, isClosed: false };
  const isOver = (): boolean => state.isOver;
  const isClosed = (): boolean => state.isClosed;
  const measuring: Promise<number>[] = [];
  // Chance of its own, so that the seed alone decides which faults come.
  const probing = new SeededRandom(seed - 1);
  const measuringIn = { fleet, random: probing, cwd: fleet.folder, isClosed };
  const took = (words: string, milliseconds: number): void => {
    if (milliseconds > SLOW) tell(`open again after ${words}`);
  };
  const tell = (words: string): void => say(`${Math.round(performance.now() - begun)}: ${words}`);
  const measure = (fault: Fault): Promise<number>[] =>
    pool
      .heldBy(fault.pid)
      .slice(0, MEASURED)
      .map((id) => takeover(id, fault, { ...measuringIn, faults, took }));
  const faults: Faults = new Faults(fleet, {
    random,
    say: tell,
    hit: (fault) => {
      if (fault.node.role === "worker") measuring.push(...measure(fault));
    },
  });
  try {
    const working = Promise.all(sessions.map((session) => session.work(isOver)));
    const failed = working.then(
      () => undefined,
      (error: unknown) => new Error("A session failed", { cause: error }),
    );
    while (sessions.some(({ id }) => id === "")) {
      const error = await Promise.race([failed, delay(50)]);
      if (error !== undefined) throw error;
    }
    say(`${count} sessions are open after ${Math.round(performance.now() - begun)} ms`);
    const end = performance.now() + seconds * 1_000;
    await faults.run(() => performance.now() > end);
    const overlapping = sorted(await Promise.all(measuring));
    const takeovers: number[] = [];
    for (const node of fleet.of("worker")) {
      takeovers.push(...(await Promise.all(measure(await faults.kill(node)))));
      await node.start();
    }
    state.isOver = true;
    const late = delay(LOST, "late", { ref: false });
    if ((await Promise.race([working, late])) === "late") {
      const left = sessions.filter(({ turns }) => turns.at(-1)?.count !== 3);
      const names = left.map(
        ({ name, id, turns }) => `${name} ${id} ${JSON.stringify(turns.at(-1))}`,
      );
      throw new Error(`Not over: ${names.join("; ")}\n${JSON.stringify(refusals)}`);
    }
    let events = 0;
    const wrong: string[] = [];
    for (const session of sessions) {
      const loaded = await loadedAt(around, session.id, random);
      events += loaded.last;
      wrong.push(...differences(session, loaded));
    }
    assert.deepEqual(wrong, [], `seed ${seed}`);
    const turns: Record<string, number> = {};
    for (const { end: how = "" } of sessions.flatMap((each) => each.turns)) {
      turns[how] = (turns[how] ?? 0) + 1;
    }
    for (const { id } of sessions) await remove(around, id, random);
    const left = await leftBehind(fleet, pool);
    return {
      left,
      faults: faults.counts,
      turns,
      events,
      reconnects: sessions.reduce((sum, { reconnects }) => sum + reconnects, 0),
      refusals,
      takeovers: sorted(takeovers),
      overlapping,
      sizes: sizes.largest,
      seconds: Math.round((performance.now() - begun) / 1_000),
    };
  } catch (error) {
    const logs = fleet.nodes.map(({ name, log }) => `--- ${name}\n${log.slice(-1_000)}`);
    throw new Error(`${String(error)}\n${logs.join("\n")}`, { cause: error });
  } finally {
    state.isOver = state.isClosed = true;
    for (const { name, log } of fleet.nodes) options.logged?.(name, log);
    for (const session of sessions) session[Symbol.dispose]();
  }
}

/** What a client that comes now is shown of a session. */
async function loadedAt(around: Surroundings, id: string, random: SeededRandom): Promise<Shown> {
  const shown = new Shown();
  const { acp, headers } = random.pick(around.gateways());
  using line = await AcpLine.connect(acp, headers, (message) => shown.take(message));
  const params = { sessionId: id, cwd: around.cwd, mcpServers: [] };
  const { error } = await line.ask("session/load", params, LOST);
  assert.equal(error, undefined, JSON.stringify(error));
  return shown;
}

async function remove(around: Surroundings, id: string, random: SeededRandom): Promise<void> {
  const { acp, headers } = random.pick(around.gateways());
  using line = await AcpLine.connect(acp, headers, () => {});
  const { error } = await line.ask("session/delete", { sessionId: id }, LOST);
  assert.equal(error, undefined, JSON.stringify(error));
}

/** Stops all nodes. Throws if that leaves a process, or a file that says that something is going on. */
async function leftBehind(fleet: ChaosFleet, pool: PoolView): Promise<Record<string, number>> {
  const codes = await Promise.all(fleet.nodes.map((node) => node.stop()));
  assert.deepEqual(new Set(codes), new Set([0]), "a node did not end in order");
  await gone(fleet.folder);
  const files = readdirSync(fleet.folder, { recursive: true, encoding: "utf8" });
  // The socket of a killed gateway is removed by whoever looks for a gateway next.
  const held = files.filter((path) => /\/holders\/.|\.unfinished-/.test(path));
  assert.deepEqual(held, [], "files are left");
  const left = await pool.leftovers();
  assert.equal(left[`${pool.subjects.jobs} messages`] ?? 0, 0, "requests for slots are left");
  for (const stream of pool.subjects.eventStreams) {
    assert.equal(left[`${stream} consumers`], 0, "readers of events are left");
  }
  return left;
}

/** Waits until no process works there any more. */
async function gone(folder: string): Promise<void> {
  const giveUp = performance.now() + LOST;
  for (;;) {
    const left = processesWhere(({ environment, command, cwd }) =>
      [cwd, command, ...environment].some((text) => text.includes(folder)),
    );
    if (left.length === 0) return;
    assert.ok(performance.now() < giveUp, `still running: ${JSON.stringify(left)}`);
    await delay(100);
  }
}

function sorted(times: readonly number[]): number[] {
  return times.map(Math.round).toSorted((one, other) => one - other);
}

function differences({ name, id, shown, turns }: ChaosSession, loaded: Shown): string[] {
  const wrong = [...shown.faults, ...faultsOf(loaded.text, turns)];
  // How a turn ended is part of the answer to its prompt, and of the text for those who come later.
  const [seen, kept] = [shown.text, loaded.text].map((text) => text.replaceAll(INTERRUPTION, ""));
  if (seen !== kept) wrong.push(firstDifference(seen ?? "", kept ?? ""));
  return wrong.map((words) => `${name} ${id}: ${words}`);
}

function firstDifference(shown: string, loaded: string): string {
  let at = 0;
  while (at < shown.length && shown[at] === loaded[at]) at++;
  const near = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - 60), at + 60));
  return `the client saw ${near(shown)} where the session has ${near(loaded)}`;
}

interface Measuring {
  readonly fleet: ChaosFleet;
  readonly faults: Faults;
  readonly random: SeededRandom;
  readonly cwd: string;
  readonly isClosed: () => boolean;
  readonly took: (words: string, milliseconds: number) => void;
}

/** Milliseconds until a request about a session is accepted again, without those in which NATS was away. */
async function takeover(id: string, { at, kind, node }: Fault, around: Measuring): Promise<number> {
  const { fleet, faults, random, cwd } = around;
  while (!around.isClosed()) {
    const up = fleet.of("gateway").filter(({ isUp, address }) => isUp && address !== undefined);
    const { address } = up[random.below(Math.max(1, up.length))] ?? {};
    try {
      if (address === undefined) throw new LineLost("No gateway is there");
      using line = await AcpLine.connect(address.acp, address.headers, () => {});
      const params = { sessionId: id, cwd, mcpServers: [] };
      const { error } = await line.ask("session/resume", params, 5_000);
      if (error === undefined) {
        const took = performance.now() - at - faults.natsAwaySince(at);
        around.took(`${Math.round(took)} ms since ${kind} ${node.name}, ${id}`, took);
        return took;
      }
    } catch (error) {
      if (!(error instanceof LineLost)) throw error;
    }
    await delay(50);
  }
  return NaN;
}
