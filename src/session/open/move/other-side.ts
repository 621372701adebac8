import { createWriteStream, openAsBlob } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { askGateway, type Gateway } from "../../../base/ask-gateway.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { OWNER } from "../../../base/principal.ts";
import { MovedAwayError, type StoredMove } from "../../../store/session/session-moves.ts";
import { refusal } from "./bundle.ts";
import type { MoveResult, Mover } from "./mover.ts";

export interface MoveWish {
  readonly withSecrets: boolean;
  /** A running turn is interrupted at once. */
  readonly interrupts: boolean;
  /** The gateway has another key than before, and a person says that this is right. */
  readonly newKey: boolean;
}

type Answer = Readonly<Record<string, unknown>>;

/** Asks a gateway for a step of a move (`server/http/move-routes.ts`). */
function ask(
  gateway: Gateway,
  path: string,
  init?: Pick<RequestInit, "method" | "body">,
): Promise<Response> {
  return askGateway(gateway, `moves/${path}`, "move the session with", init);
}

async function step(gateway: Gateway, path: string, body: object): Promise<Answer> {
  const response = await ask(gateway, path, { method: "POST", body: JSON.stringify(body) });
  return (await response.json()) as Answer;
}

const NEW_KEY = "If you know why, move it by `trunkline session move` with --new-key";

async function pinned(mover: Mover, { acp }: Gateway, key: unknown, wish: MoveWish) {
  await mover.moves.pin(acp, String(key), NEW_KEY, wish.newKey);
  return String(key);
}

type LetGo = { readonly letGo: () => Promise<void> };

/**
 * Moves a session of this machine to a gateway. Before the tombstone, a failure leaves the session here; after
 * it, repeating this gives the gateway the grant.
 */
export async function moveTo(
  mover: Mover,
  id: string,
  gateway: Gateway,
  wish: MoveWish & LetGo,
): Promise<MoveResult> {
  const out = await mover.moves.find(id, "out");
  if (out?.state === "moved") {
    const { epoch, facts } = out;
    const url = String(facts.to);
    if (url !== gateway.acp) throw new MovedAwayError(id, url, epoch);
    const moved = await finishTo(mover, gateway, out);
    await mover.tokens.keep(id, gateway.token);
    return moved;
  }
  const move = crypto.randomUUID();
  const { agent } = await mover.record(id);
  const { public: key } = mover.key;
  const offered = await step(gateway, `${move}/offer`, { session: id, agent, key });
  const target = await pinned(mover, gateway, offered.key, wish);
  await mover.tokens.keep(id, gateway.token);
  await wish.letGo();
  const to = { move, to: gateway.acp, key: target, have: String(offered.have), isDriven: false };
  const record = await mover.record(id);
  const { epoch, digest } = await mover.leave(record, { ...to, ...wish });
  try {
    const coming = { session: id, agent, key, epoch: String(epoch) };
    const path = `${move}/bundle?${new URLSearchParams(coming).toString()}`;
    const body = await openAsBlob(mover.bundle(id, "out"));
    const ready = (await (await ask(gateway, path, { method: "PUT", body })).json()) as Answer;
    if (ready.digest !== digest) throw refusal("the other side has got something else");
  } catch (error) {
    await mover.giveUp(id, move);
    throw error;
  }
  return await finishTo(mover, gateway, { session: id, move, facts: { digest } });
}

type BegunMove = Pick<StoredMove, "session" | "move" | "facts">;

async function finishTo(
  mover: Mover,
  gateway: Gateway,
  { session, move, facts }: BegunMove,
): Promise<MoveResult> {
  const grant = await mover.decide(session, move, String(facts.digest));
  try {
    const moved = await step(gateway, `${move}/grant`, { session, grant });
    await mover.moves.note(session, move, { isThere: true });
    return moved as unknown as MoveResult;
  } catch (error) {
    const says =
      "The session has left, and the other side does not run it yet. Move it there again";
    throw new TrunklineError("unavailable", `${says}. ${(error as Error).message}`, {
      cause: error,
    });
  }
}

/** Brings a session of a gateway to this machine. Repeated, it goes on with what was begun. */
export async function moveHere(
  mover: Mover,
  id: string,
  gateway: Gateway,
  wish: MoveWish,
): Promise<MoveResult> {
  const begun = await mover.moves.find(id, "in");
  if (begun?.state === "incoming" && typeof begun.facts.digest === "string") {
    try {
      return await finishHere(mover, gateway, begun);
    } catch (error) {
      if (!(error instanceof TrunklineError) || error.code !== "conflict") throw error;
      // It was opened there meanwhile.
      await mover.giveUp(id, begun.move);
    }
  }
  const move = crypto.randomUUID();
  const { interrupts } = wish;
  const asked = { session: id, key: mover.key.public, have: await mover.have(id), interrupts };
  const { epoch, agent, key, digest } = await step(gateway, `${move}/leave`, asked);
  const from = { key: await pinned(mover, gateway, key, wish), owner: OWNER.id, isTrusted: false };
  const coming = { session: id, move, epoch: Number(epoch), agent: String(agent) };
  await mover.tokens.keep(id, gateway.token);
  await mover.expect({ ...coming, ...from, from: gateway.acp });
  const { body } = await ask(gateway, `${move}/bundle?session=${encodeURIComponent(id)}`);
  const file = createWriteStream(mover.bundle(id, "in"), { mode: 0o600, flush: true });
  await pipeline((body ?? []) as unknown as Readable, file);
  if ((await mover.check(id, move)) !== digest)
    throw refusal("it is not what the other side has sent");
  return await finishHere(mover, gateway, { session: id, move, facts: { digest } });
}

async function finishHere(
  mover: Mover,
  gateway: Gateway,
  { session, move, facts }: BegunMove,
): Promise<MoveResult> {
  const { grant } = await step(gateway, `${move}/commit`, { session, digest: facts.digest });
  const moved = await mover.activate(session, move, String(grant));
  await mover.tokens.forget(session);
  return moved;
}

/**
 * Goes on with the moves that this machine began, and that a kill or a lost connection has interrupted.
 * Returns whether one has to be tried again, since its gateway is not there.
 */
export async function goOn(
  mover: Mover,
  gatewayAt: (acp: string, token: string) => Gateway,
): Promise<boolean> {
  let isLeft = false;
  for (const begun of await mover.moves.unfinished()) {
    const { session, move, state, facts } = begun;
    const token = await mover.tokens.get(session);
    // Only the person can go on.
    if (token === undefined) continue;
    const gateway = gatewayAt(String(facts.from ?? facts.to), token);
    const wish = { withSecrets: facts.withSecrets === true, interrupts: false, newKey: false };
    try {
      if (state === "incoming") await finishHere(mover, gateway, begun);
      else if (state === "moved") await finishTo(mover, gateway, begun);
      else await moveTo(mover, session, gateway, { ...wish, letGo: async () => {} });
    } catch (error) {
      if (error instanceof TrunklineError && error.code === "unavailable") isLeft = true;
      else if (state !== "moved") await mover.giveUp(session, move);
    }
  }
  return isLeft;
}
