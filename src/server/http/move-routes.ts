import { createReadStream, createWriteStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";

import { isUuid } from "../../base/check.ts";
import { TrunklineError } from "../../base/errors.ts";
import { limitRefusal, mayControl, mayUseAgent, type Principal } from "../../base/principal.ts";
import { LARGEST_BUNDLE } from "../../session/open/move/bundle.ts";
import type { Mover } from "../../session/open/move/mover.ts";
import { readJson, sendJson } from "./http-answers.ts";

/** The means of a gateway to move sessions. */
export interface MoveContext {
  readonly mover: Mover;
  /** Closes a session, if it is open here; a running turn first ends its tool call. */
  readonly letGo: (session: string, interrupts: boolean, signal: AbortSignal) => Promise<void>;
  /** Throws if there is no sandbox for what comes. */
  readonly ready: () => Promise<void>;
}

/** Is aborted when whoever waits for an answer has gone: a tool call may never end. */
export function goneWith(response: ServerResponse): AbortSignal {
  const gone = new AbortController();
  const why = new TrunklineError("cancelled", "Nobody waits for the move any more.");
  response.once("close", () => gone.abort(why));
  return gone.signal;
}

export const MOVES_PATH = "/moves/";
/** Bytes of a body beside the bundle. */
const LARGEST = 64 * 1024;

/** A step of a move. */
interface MoveStep extends MoveContext {
  readonly move: string;
  readonly session: string;
  readonly principal: Principal;
  /** A text of the body or of the query. */
  readonly text: (name: string) => string;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

/**
 * The steps of a move, `/moves/MOVE/STEP`; each can be repeated. To this gateway:
 *
 * - `POST offer` `{ session, agent, key }` → `{ key, have }`
 * - `PUT bundle?session&agent&key&epoch` → `{ digest }`: it is ready, and cannot run
 * - `POST grant` `{ session, grant }` → `{ folder, says }`: it is here
 *
 * From this gateway:
 *
 * - `POST leave` `{ session, key, have, interrupts }` → `{ key, epoch, digest, agent }`
 * - `GET bundle?session`
 * - `POST commit` `{ session, digest }` → `{ grant }`: it is not here any more
 */
const STEPS = new Map<string, (step: MoveStep) => Promise<object | undefined>>(
  Object.entries({
    "POST offer": async ({ mover, ready, principal, session, text }) => {
      await mayCome(mover, principal, text);
      const isKnown = (await mover.moves.find(session, "out"))?.state === "moved";
      if (isKnown) await mover.record(session, principal.id);
      else await ready();
      return { key: mover.key.public, have: isKnown ? await mover.have(session) : "" };
    },
    "PUT bundle": async ({ mover, move, session, principal, text, request }) => {
      await mayCome(mover, principal, text);
      if (Number(request.headers["content-length"] ?? Infinity) > LARGEST_BUNDLE) {
        throw new TrunklineError("limit", `A session has at most ${LARGEST_BUNDLE} bytes to move.`);
      }
      const from = { owner: principal.id, isTrusted: true, agent: text("agent"), key: text("key") };
      await mover.expect({ session, move, epoch: Number(text("epoch")), ...from });
      const file = createWriteStream(mover.bundle(session, "in"), { mode: 0o600, flush: true });
      try {
        await pipeline(request, file);
      } catch (error) {
        await mover.giveUp(session, move);
        throw error;
      }
      return { digest: await mover.check(session, move) };
    },
    "POST grant": async ({ mover, move, session, principal, text }) =>
      await mover.activate(session, move, text("grant"), principal.id),
    "POST leave": async ({ mover, letGo, move, session, principal, text, response }) => {
      await pin(mover, principal, text("key"));
      await mover.record(session, principal.id);
      await letGo(session, text("interrupts") === "true", goneWith(response));
      const record = await mover.record(session, principal.id);
      const to = `the machine of ${principal.name ?? "the owner"}`;
      const wish = { key: text("key"), have: text("have"), withSecrets: true, isDriven: true };
      const left = await mover.leave(record, { move, to, ...wish });
      return { ...left, key: mover.key.public, agent: record.agent };
    },
    "GET bundle": async ({ mover, move, session, principal, response }) => {
      await mover.record(session, principal.id);
      const out = await mover.moves.find(session, "out");
      if (out?.move !== move) throw new TrunklineError("conflict", "The move was given up.");
      response.writeHead(200, { "content-type": "application/octet-stream" });
      await pipeline(createReadStream(mover.bundle(session, "out")), response);
      return undefined;
    },
    "POST commit": async ({ mover, move, session, principal, text }) => {
      await mover.record(session, principal.id);
      return { grant: await mover.decide(session, move, text("digest")) };
    },
  }),
);

/** Does one step of a move. */
export async function moveStep(
  moving: MoveContext,
  path: string,
  principal: Principal,
  { request, response }: Pick<MoveStep, "request" | "response">,
): Promise<void> {
  const { folders, repositories } = principal.limits ?? {};
  if (!mayControl(principal) || folders !== undefined || repositories !== undefined) {
    const says =
      "A token that only observes, or is limited to folders or repositories, moves none.";
    throw new TrunklineError("untrusted", says);
  }
  const [move = "", name = ""] = path.slice(MOVES_PATH.length).split("/");
  const handle = STEPS.get(`${request.method} ${name}`);
  if (handle === undefined || !isUuid(move))
    throw new TrunklineError("not-found", "There is no such step of a move.");
  using _share = await moving.mover.steps.enter({ key: principal.id });
  const query = new URLSearchParams(request.url?.split("?", 2)[1] ?? "");
  const body = request.method === "POST" ? await readJson(request, LARGEST) : {};
  const text = (of: string): string => {
    const given = body[of] ?? query.get(of);
    return typeof given === "string" ? given : given === true ? "true" : "";
  };
  const step = { ...moving, move, session: text("session"), principal, text, request, response };
  const answer = await handle(step);
  if (answer !== undefined) sendJson(response, answer);
}

/** Refuses an agent that the principal may not use or that is not here, and another machine. */
async function mayCome(mover: Mover, principal: Principal, text: MoveStep["text"]): Promise<void> {
  const agent = text("agent");
  mover.needAgent(agent);
  if (mayUseAgent(principal, agent)) return await pin(mover, principal, text("key"));
  const why = limitRefusal(principal, `the agent '${agent}'`, `--agent ${agent}`);
  throw new TrunklineError("untrusted", why);
}

/** A stolen token cannot be used to move sessions to another machine. */
async function pin(
  { moves }: Mover,
  { id, name = "owner" }: Principal,
  key: string,
): Promise<void> {
  const next =
    "Each machine needs a token of its own: trunkline token create NAME --scope sessions";
  await moves.pin(`principal ${id}`, key, `This is about the token '${name}'. ${next}`);
}
