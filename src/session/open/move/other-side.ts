import { openAsBlob } from "node:fs";

import { TrunklineError } from "../../../base/errors.ts";
import type { SessionRecord } from "../../../store/session/session-log.ts";
import { MovedAway } from "../../../store/session/session-moves.ts";
import { refusal } from "./bundle.ts";
import type { Mover } from "./mover.ts";

/** A gateway with which sessions are moved. */
export interface Gateway {
  /** Its address for HTTP, without a path. */
  readonly base: string;
  /** Its address for ACP, by which people name it. */
  readonly acp: string;
  readonly token: string | undefined;
}

export interface MoveWish {
  readonly withSecrets?: boolean;
  /** A running turn is interrupted at once. */
  readonly interrupts?: boolean;
  /** The gateway has another key than before, and a person says that this is right. */
  readonly newKey?: boolean;
}

interface Done {
  /** The folder in which it works now. */
  readonly folder: string;
  /** What a person has to know. */
  readonly says: readonly string[];
}

type Answer = Readonly<Record<string, unknown>>;

/** The steps of a move, as a gateway does them (`server/http/move-routes.ts`). */
class OtherSide {
  readonly #gateway: Gateway;
  readonly #move: string;

  constructor(gateway: Gateway, move: string) {
    this.#gateway = gateway;
    this.#move = move;
  }

  async post(step: string, body: object): Promise<Answer> {
    const headers = { "content-type": "application/json" };
    const response = await this.#fetch(step, {
      ...{ method: "POST", headers, body: JSON.stringify(body) },
    });
    return (await response.json()) as Answer;
  }

  /** Sends the bundle. */
  async send(path: string, query: Readonly<Record<string, string>>): Promise<Answer> {
    const body = await openAsBlob(path);
    const step = `bundle?${new URLSearchParams(query).toString()}`;
    return (await (await this.#fetch(step, { method: "PUT", body })).json()) as Answer;
  }

  async bundle(session: string): Promise<AsyncIterable<Buffer>> {
    const { body } = await this.#fetch(`bundle?${new URLSearchParams({ session }).toString()}`, {});
    return (body ?? []) as unknown as AsyncIterable<Buffer>;
  }

  async #fetch(step: string, init: RequestInit & { headers?: Record<string, string> }) {
    const { base, token } = this.#gateway;
    const headers = {
      ...init.headers,
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const what = `Cannot move the session with ${base}`;
    let response: Response;
    try {
      // A redirect would send the token and the session to another server.
      const url = `${base}/moves/${this.#move}/${step}`;
      response = await fetch(url, { ...init, headers, redirect: "error" });
    } catch (error) {
      const { message, cause } = error as Error;
      const why = cause instanceof Error ? cause.message : message;
      throw new TrunklineError("unavailable", `${what}: ${why}`, { cause: error });
    }
    if (response.ok) return response;
    const { error = `it answered with status ${response.status}` } = (await response
      .json()
      .catch(() => ({}))) as { error?: string };
    const next = response.status === 401 ? " Set TRUNKLINE_TOKEN to a token of that server." : "";
    const code = response.status === 409 ? "conflict" : "untrusted";
    throw new TrunklineError(code, `${what}: ${error}${next}`);
  }
}

async function pinKey(mover: Mover, { acp }: Gateway, key: unknown, wish: MoveWish) {
  if (typeof key !== "string") throw refusal("the other side has no key");
  if (wish.newKey === true) await mover.moves.forgetHost(acp);
  await mover.moves.pin(acp, key, "If you know why, add --new-key");
  return key;
}

/**
 * Moves a session of this machine to a gateway. After the tombstone it is repeated until the gateway has
 * the grant; before, a failure leaves the session here.
 */
export async function moveTo(
  mover: Mover,
  { id, agent }: SessionRecord,
  gateway: Gateway,
  wish: MoveWish & { readonly letGo: () => Promise<void> },
): Promise<Done> {
  const out = await mover.moves.find(id, "out");
  if (out?.state === "moved") {
    const isHere = out.facts.to === gateway.acp && out.facts.isThere !== true;
    if (isHere) return await finish(out.move, Number(out.epoch), String(out.facts.digest));
    throw new MovedAway({ url: String(out.facts.to), session: id, epoch: out.epoch });
  }
  const { public: key } = await mover.hostKey();
  const move = crypto.randomUUID();
  const side = new OtherSide(gateway, move);
  const commits = await mover.commits(id);
  const offered = await side.post("offer", { session: id, agent, key, commits });
  const target = await pinKey(mover, gateway, offered.key, wish);
  await wish.letGo();
  const record = await mover.record(id);
  const haves = Array.isArray(offered.haves) ? offered.haves.map(String) : [];
  const leaving = { move, to: gateway.acp, key: target, haves, withSecrets: wish.withSecrets };
  const { epoch, digest } = await mover.leave(record, leaving);
  try {
    await send(side, epoch, digest);
  } catch (error) {
    await mover.giveUp(id, move);
    throw error;
  }
  return await finish(move, epoch, digest);

  async function send(to: OtherSide, at: number, wanted: string, of: string = move): Promise<void> {
    const { public: own } = await mover.hostKey();
    const query = { session: id, agent, key: own, epoch: String(at) };
    const ready = await to.send(mover.bundlePath(of), query);
    if (ready.digest !== wanted) throw refusal("the other side has got something else");
  }

  async function finish(of: string, at: number, wanted: string): Promise<Done> {
    const grant = await mover.decide(id, of, wanted);
    const to = new OtherSide(gateway, of);
    const tell = (): Promise<Answer> => to.post("grant", { session: id, grant });
    const arrived = await tell().catch(async (error: unknown) => {
      if (!(error instanceof TrunklineError) || error.code !== "conflict") throw untold(error);
      // The other side has lost what it was sent.
      await send(to, at, wanted, of);
      return await tell();
    });
    await mover.arrivedThere(id, of);
    return doneOf(arrived);
  }
}

function untold(error: unknown): TrunklineError {
  const why = error instanceof Error ? error.message : String(error);
  const says = `The session has left, and the other side does not know it yet: ${why}. Repeat this command.`;
  return new TrunklineError("unavailable", says, { cause: error });
}

function doneOf({ folder, says }: Answer): Done {
  const list = Array.isArray(says) ? says.map(String) : [];
  return { folder: String(folder), says: list };
}

/** Brings a session of a gateway to this machine. Repeated, it goes on with what was begun. */
export async function moveHere(
  mover: Mover,
  id: string,
  gateway: Gateway,
  wish: MoveWish,
): Promise<Done> {
  const begun = await mover.moves.find(id, "in");
  const { digest: known } = begun?.facts ?? {};
  if (begun?.state === "incoming" && typeof known === "string") {
    const side = new OtherSide(gateway, begun.move);
    try {
      return await fetchGrant(side, begun.move, known);
    } catch (error) {
      if (!(error instanceof TrunklineError) || error.code !== "conflict") throw error;
      await mover.giveUp(id, begun.move);
    }
  }
  const move = crypto.randomUUID();
  const side = new OtherSide(gateway, move);
  const { public: key } = await mover.hostKey();
  const { interrupts = false } = wish;
  const ask = { session: id, key, commits: await mover.commits(id), interrupts };
  const left = await side.post("leave", ask);
  const from = await pinKey(mover, gateway, left.key, wish);
  try {
    const coming = {
      ...{ session: id, move, epoch: Number(left.epoch), key: from },
      ...{ agent: String(left.agent), owner: "", isOwn: false },
    };
    const digest = await mover.receive(coming, await side.bundle(id));
    if (digest !== left.digest) throw refusal("it is not what the other side has sent");
    return await fetchGrant(side, move, digest);
  } catch (error) {
    // Unless the other side has decided it: then repeating the command gets the grant.
    await side.post("abort", { session: id }).catch(() => {});
    throw error;
  }

  async function fetchGrant(from: OtherSide, of: string, digest: string): Promise<Done> {
    const { grant } = await from.post("commit", { session: id, digest });
    const arrived = await mover.activate(id, of, String(grant));
    await from.post("done", { session: id }).catch(() => {});
    return arrived;
  }
}
