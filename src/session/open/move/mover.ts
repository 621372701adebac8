import type { SessionRecord } from "../../store.ts";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";

import { TrunklineError } from "../../../base/errors.ts";
import { Semaphore } from "../../../base/limit/semaphore.ts";
import { OWNER } from "../../../base/principal.ts";
import { BUILT_IN, type Config } from "../../../config/config.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import type { MovedWork } from "../../../store/schema.gen.ts";
import type { ArrivedSession, SessionMoves } from "../../../store/session/session-moves.ts";
import { workingFolder } from "../../workplace.ts";
import { readBundle, refusal } from "./bundle.ts";
import { HostKey, isGranted } from "./host-key.ts";
import { MoveTokens } from "./move-tokens.ts";
import { Parcels } from "./parcels.ts";
import type { ReturnedWork } from "./take-back.ts";

/** How a session leaves. */
export interface Departure {
  readonly move: string;
  /** Where it goes: the address of a gateway, or words for a person. */
  readonly to: string;
  /** The public key of the other side. */
  readonly key: string;
  /** A commit of an earlier move that the other side has. */
  readonly have: string;
  readonly withSecrets?: boolean | undefined;
  /** The other side drives it. Then the session can be opened here until it is decided, which ends the move. */
  readonly isDriven: boolean;
}

/** What is to come. */
export interface ExpectedSession {
  readonly session: string;
  readonly move: string;
  readonly epoch: number;
  /** The public key of the side that it comes from. */
  readonly key: string;
  readonly agent: string;
  /** Whose it will be here. */
  readonly owner: string;
  readonly isTrusted: boolean;
  /** The gateway that it comes from, where this side drives the move. */
  readonly from?: string | undefined;
}

/** Where a session works now, and what a person has to know. */
export type MoveResult = ReturnedWork & { readonly id: string };

const MOST_MOVES = 1_000_000_000;
/** Sessions of one principal that are to come; an older one is given up for another. */
const MOST_COMING = 4;

/** One side of moves: the sessions of a data folder. */
export class Mover implements AsyncDisposable {
  readonly log: SessionLog;
  readonly moves: SessionMoves;
  readonly key: HostKey;
  readonly parcels: Parcels;
  /** Steps at once: each may have a bundle in memory. */
  readonly steps = new Semaphore({ running: 8, runningEach: 2, waitingEach: 16 });
  readonly tokens: MoveTokens;
  readonly #config: Config;

  private constructor(config: Config, log: SessionLog, key: HostKey, env: NodeJS.ProcessEnv) {
    this.log = log;
    this.key = key;
    this.moves = log.moves;
    this.#config = config;
    this.parcels = new Parcels(config, log, env);
    this.tokens = new MoveTokens(config.data, env);
  }

  static async open(config: Config, env: NodeJS.ProcessEnv): Promise<Mover> {
    await mkdir(join(config.data, "moves"), { recursive: true, mode: 0o700 });
    const [log, key] = [await SessionLog.open(config.data), await HostKey.open(config.data)];
    return new Mover(config, log, key, env);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.log[Symbol.asyncDispose]();
  }

  /** A session that is stored here, wherever it is now, if it is the owner's. */
  async record(id: string, owner?: string): Promise<SessionRecord> {
    const record = await this.#stored(id);
    const isTheirs = owner === undefined || (record?.notes.owner ?? OWNER.id) === owner;
    if (record !== undefined && isTheirs) return record;
    throw new TrunklineError("not-found", `Cannot find session '${id.slice(0, 64)}'.`);
  }

  async #stored(id: string): Promise<SessionRecord | undefined> {
    const record = await this.log.find(id);
    return record?.isDeleted === false ? record : undefined;
  }

  /** The commit of the session's last move that is here; empty if there is none. */
  async have(id: string): Promise<string> {
    return await this.parcels.have(id, await this.log.find(id));
  }

  /** Refuses an agent that is not configured here. */
  needAgent(name: string): void {
    if (name === BUILT_IN || Object.hasOwn(this.#config.agents, name)) return;
    const next = `Configure it there: trunkline agent add ${name}`;
    throw refusal(`its agent '${name}' is not configured at the other side. ${next}`);
  }

  /** The bundle of a session that leaves or comes: its last one only, and no other session's. */
  bundle(session: string, way: "out" | "in"): string {
    const name = /^(?:agent\.)?[A-Za-z0-9_-]{1,200}$/.test(session) ? `${session}.${way}` : "";
    if (name === "") throw new TrunklineError("usage", "That is not the id of a session.");
    return join(this.#config.data, "moves", `${name}.bundle`);
  }

  /** At the source: nobody opens the session any more, and all of it is in a bundle. */
  async leave(
    record: SessionRecord,
    { move, to, key, have, withSecrets = false, isDriven }: Departure,
  ): Promise<{ readonly epoch: number; readonly digest: string }> {
    const { id, notes } = record;
    const isRun = notes.run !== undefined;
    if (isRun || this.parcels.siteOf(record) === undefined) {
      const why = isRun
        ? "it is a remote run"
        : `its folder '${workingFolder(record)}' is in no git repository. Run \`git init\` there`;
      throw new TrunklineError("usage", `Cannot move session '${id}': ${why}.`);
    }
    const epoch = await this.moves.begin(id, move, { to, key, withSecrets }, isDriven);
    try {
      const packing = { path: this.bundle(id, "out"), have, withSecrets };
      const packed = await this.parcels.pack(record, packing);
      if (!(await this.moves.note(id, move, { ...packed }))) throw givenUp(id);
      return { epoch, digest: packed.digest };
    } catch (error) {
      await this.giveUp(id, move);
      throw error;
    }
  }

  /** At the source: the tombstone. Returns the grant, also when it is asked for again. */
  async decide(session: string, move: string, digest: string): Promise<string> {
    const out = await this.moves.find(session, "out");
    if (out?.move !== move || out.facts.digest !== digest) throw givenUp(session);
    const grant = this.key.grant([session, move, out.epoch, digest, String(out.facts.key)]);
    if (!(await this.moves.depart(session, move))) throw givenUp(session);
    // The other side has all of it.
    await rm(this.bundle(session, "out"), { force: true });
    return grant;
  }

  /** Gives up a move that is not decided. */
  async giveUp(session: string, move: string): Promise<void> {
    const way = await this.moves.abort(session, move);
    if (way === undefined) return;
    await rm(this.bundle(session, way), { force: true });
    if (way === "out" || (await this.log.find(session)) !== undefined) return;
    await this.parcels.forget(session);
  }

  /** At the target: notes what is to come; its bundle may then be written. */
  async expect(expected: ExpectedSession): Promise<void> {
    const { session, move, epoch, key, agent, owner, isTrusted, from } = expected;
    if (!Number.isSafeInteger(epoch) || epoch < 1 || epoch > MOST_MOVES) {
      throw refusal("the number of its move is none");
    }
    this.needAgent(agent);
    const path = this.bundle(session, "in");
    const out = await this.moves.find(session, "out");
    if (out !== undefined && out.facts.key !== key) {
      throw refusal(`it went to ${String(out.facts.to)}, and comes from another machine`);
    }
    if ((await this.#stored(session)) !== undefined) await this.record(session, owner);
    await this.moves.accept(session, move, epoch, { key, owner, isTrusted, from });
    await rm(path, { force: true });
    const coming = await this.moves.coming(owner);
    for (const each of coming.slice(0, -MOST_COMING)) await this.giveUp(each.session, each.move);
  }

  /** At the target: all of the bundle is checked, and nothing of it runs. Returns its digest. */
  async check(session: string, move: string): Promise<string> {
    try {
      const bundle = readBundle(this.bundle(session, "in"));
      if (bundle.head.id !== session) throw refusal("it is another session");
      this.needAgent(bundle.head.agent);
      await this.parcels.check(session, bundle, await this.#stored(session));
      const { digest } = bundle;
      if (!(await this.moves.note(session, move, { digest }))) throw givenUp(session);
      return digest;
    } catch (error) {
      await this.giveUp(session, move);
      throw error;
    }
  }

  /** At the target: with the grant of the source, the session is here. It can be repeated. */
  async activate(session: string, move: string, grant: string, by = OWNER.id): Promise<MoveResult> {
    const coming = await this.moves.find(session, "in");
    const { key, digest, owner, isTrusted } = (coming?.facts ?? {}) as Partial<
      ExpectedSession & { digest: string }
    >;
    if (coming?.move !== move || owner !== by || digest === undefined) throw givenUp(session);
    if (coming.state === "active") {
      return { id: session, folder: workingFolder(await this.record(session)), says: [] };
    }
    const terms = [session, move, coming.epoch, digest, this.key.public] as const;
    const bundle = readBundle(this.bundle(session, "in"));
    if (!isGranted(terms, String(key), grant) || bundle.digest !== digest) {
      throw refusal("the other side has not signed that it may run here");
    }
    const { facts } = (await this.moves.find(session, "out")) ?? {};
    const moved = await this.parcels.unpack(session, bundle, {
      ...{ owner, back: await this.#stored(session), left: facts?.work as MovedWork | undefined },
      isTrusted: isTrusted === true,
      isComing: async () => (await this.moves.find(session, "in"))?.state === "incoming",
      arrive: (arrived) => this.moves.arrive(move, arrived),
    });
    // The same grant was given twice.
    if (moved === undefined) return await this.activate(session, move, grant, by);
    await rm(this.bundle(session, "in"), { force: true });
    return { id: session, ...moved };
  }

  /** Makes a new session of a file. */
  async import(path: string): Promise<MoveResult> {
    const id = crypto.randomUUID();
    const bundle = readBundle(path);
    this.needAgent(bundle.head.agent);
    const arrive = (arrived: ArrivedSession) => this.moves.arrive(undefined, arrived);
    const arrival = { owner: OWNER.id, isCopy: true, isTrusted: false, arrive };
    try {
      await this.parcels.check(id, bundle, undefined);
      const work = await this.parcels.unpack(id, bundle, arrival);
      return { id, says: [], folder: "", ...work };
    } catch (error) {
      await this.parcels.forget(id);
      throw error;
    }
  }
}

function givenUp(session: string): TrunklineError {
  const says = `The move of session '${session}' was given up. Try again.`;
  return new TrunklineError("conflict", says);
}
