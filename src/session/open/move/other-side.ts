import { createWriteStream, openAsBlob } from "node:fs";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

import { askGateway, type Gateway } from "../../../base/ask-gateway.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { OWNER } from "../../../base/principal.ts";
import { MovedAwayError } from "../../../store/session/session-moves.ts";
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

/**
 * Moves a session of this machine to a gateway. Before the tombstone, a failure leaves the session here; after
 * it, repeating this gives the gateway the grant.
 */
export async function moveTo(
  mover: Mover,
  id: string,
  gateway: Gateway,
  wish: MoveWish & { readonly letGo: () => Promise<void> },
): Promise<MoveResult> {
  const out = await mover.moves.find(id, "out");
  if (out?.state === "moved") {
    const { epoch, facts } = out;
    const url = String(facts.to);
    if (url !== gateway.acp) throw new MovedAwayError(id, url, epoch);
    return await finish(out.move, String(facts.digest));
  }
  const move = crypto.randomUUID();
  const { agent } = await mover.record(id);
  const { public: key } = mover.key;
  const offered = await step(gateway, `${move}/offer`, { session: id, agent, key });
  const target = await pinned(mover, gateway, offered.key, wish);
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
  return await finish(move, digest);

  async function finish(of: string, wanted: string): Promise<MoveResult> {
    const grant = await mover.decide(id, of, wanted);
    try {
      return (await step(gateway, `${of}/grant`, { session: id, grant })) as unknown as MoveResult;
    } catch (error) {
      const says =
        "The session has left, and the other side does not run it yet. Move it there again";
      throw new TrunklineError("unavailable", `${says}. ${(error as Error).message}`, {
        cause: error,
      });
    }
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
      return await finish(begun.move, begun.facts.digest);
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
  await mover.expect({ session: id, move, epoch: Number(epoch), agent: String(agent), ...from });
  const { body } = await ask(gateway, `${move}/bundle?session=${encodeURIComponent(id)}`);
  const file = createWriteStream(mover.bundle(id, "in"), { mode: 0o600, flush: true });
  await pipeline((body ?? []) as unknown as Readable, file);
  if ((await mover.check(id, move)) !== digest)
    throw refusal("it is not what the other side has sent");
  return await finish(move, digest);

  async function finish(of: string, wanted: string): Promise<MoveResult> {
    const { grant } = await step(gateway, `${of}/commit`, { session: id, digest: wanted });
    return await mover.activate(id, of, String(grant));
  }
}
