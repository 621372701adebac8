import { createReadStream } from "node:fs";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import {
  limitRefusal,
  mayControl,
  mayUseAgent,
  OWNER,
  type Principal,
} from "../../base/principal.ts";
import type { Mover } from "../../session/open/move/mover.ts";
import type { SessionRecord } from "../../store/session/session-log.ts";
import { fail, failWith, readJson, sendJson } from "./http-answers.ts";

/** What a gateway needs to move sessions. */
export interface Moving {
  readonly mover: Mover;
  /** Closes a session, which is open here; a running turn first ends its tool call. */
  readonly letGo: (session: string, interrupts: boolean) => Promise<void>;
}

export const MOVES_PATH = "/moves/";
/** Bytes of a body beside the bundle. */
const LARGEST = 256 * 1024;
/** Milliseconds after which a move that somebody else drives is given up if nothing is heard of it. */
const PATIENCE = 10 * 60_000;

type Body = Readonly<Record<string, unknown>>;

/**
 * The steps of a move, each of which can be repeated. To this gateway:
 *
 * - `POST /moves/MOVE/offer` `{ session, agent, key, commits }` → `{ key, haves }`
 * - `PUT /moves/MOVE/bundle?session&agent&key&epoch` → `{ digest }`: it is ready, and cannot run
 * - `POST /moves/MOVE/grant` `{ session, grant }` → `{ folder, says }`: it is here
 *
 * From this gateway:
 *
 * - `POST /moves/MOVE/leave` `{ session, key, commits, interrupts }` → `{ key, epoch, digest, agent }`
 * - `GET /moves/MOVE/bundle?session`
 * - `POST /moves/MOVE/commit` `{ session, digest }` → `{ grant }`: it is not here any more
 * - `POST /moves/MOVE/done` and `abort` `{ session }`
 */
export class MoveRoutes {
  readonly #open: () => Promise<Moving>;
  readonly #log: Log;

  constructor(open: () => Promise<Moving>, log: Log) {
    this.#open = open;
    this.#log = log;
  }

  handle(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): void {
    background(
      this.#answer(path, request, response, principal).catch((error: unknown) =>
        failWith(response, error, path, this.#log),
      ),
      "Moving a session",
    );
  }

  async #answer(
    path: string,
    request: IncomingMessage,
    response: ServerResponse,
    principal: Principal,
  ): Promise<void> {
    const { folders, repositories } = principal.limits ?? {};
    if (!mayControl(principal) || (folders ?? repositories) !== undefined) {
      const says =
        "A token that only observes, or is limited to folders or repositories, moves none.";
      return fail(response, 403, says);
    }
    const [move = "", step = ""] = path.slice(MOVES_PATH.length).split("/");
    if (!/^[0-9a-f-]{36}$/.test(move)) return fail(response, 404, "There is no such move.");
    const moving = await this.#open();
    const query = new URLSearchParams(request.url?.split("?", 2)[1] ?? "");
    if (step === "bundle" && request.method === "GET") {
      const session = query.get("session") ?? "";
      await this.#own(moving, session, principal);
      const out = await moving.mover.moves.find(session, "out");
      if (out?.move !== move) return fail(response, 409, "The move was given up.");
      response.writeHead(200, { "content-type": "application/octet-stream" });
      await pipeline(createReadStream(moving.mover.bundlePath(move)), response);
      return undefined;
    }
    if (step === "bundle" && request.method === "PUT") {
      const [session = "", agent = "", key = ""] = ["session", "agent", "key"].map(
        (name) => query.get(name) ?? "",
      );
      await this.#pin(moving, key, principal);
      this.#needAgent(moving, agent, principal);
      const epoch = Number(query.get("epoch"));
      if (!Number.isSafeInteger(epoch)) throw new TrunklineError("usage", "'epoch' is no number.");
      const coming = { session, move, epoch, key, agent, owner: principal.id, isOwn: true };
      return sendJson(response, { digest: await moving.mover.receive(coming, request) });
    }
    const handle = STEPS.get(step);
    if (handle === undefined || request.method !== "POST") {
      return fail(response, 404, "There is no such step of a move.");
    }
    const body = await readJson(request, LARGEST);
    const session = textIn(body, "session");
    return sendJson(response, await handle.call(this, { moving, move, session, body, principal }));
  }

  /** The session, if it is the principal's. */
  async #own({ mover }: Moving, session: string, { id }: Principal): Promise<SessionRecord> {
    const record = await mover.record(session);
    if (((record.notes.owner as string | undefined) ?? OWNER.id) === id) return record;
    throw new TrunklineError("not-found", `Cannot find session '${session.slice(0, 64)}'.`);
  }

  /** Whoever has got hold of a token cannot move sessions with it from another machine. */
  async #pin({ mover }: Moving, key: string, { id, name }: Principal): Promise<void> {
    const who = id === OWNER.id ? "the owner's token" : `the token '${name ?? id}'`;
    const next =
      "Each machine needs a token of its own: trunkline token create NAME --scope sessions";
    await mover.moves.pin(`principal ${id}`, key, `This is about ${who}. ${next}`);
  }

  #needAgent({ mover }: Moving, agent: string, principal: Principal): void {
    mover.needAgent(agent);
    if (mayUseAgent(principal, agent)) return;
    const why = limitRefusal(principal, `the agent '${agent}'`, `--agent ${agent}`);
    throw new TrunklineError("untrusted", why);
  }

  async offer({ moving, session, body, principal }: Step): Promise<object> {
    const key = textIn(body, "key");
    await this.#pin(moving, key, principal);
    this.#needAgent(moving, textIn(body, "agent"), principal);
    const { mover } = moving;
    const { public: own } = await mover.hostKey();
    const isKnown = (await mover.moves.find(session, "out"))?.state === "moved";
    if (isKnown) await this.#own(moving, session, principal);
    return { key: own, haves: isKnown ? await mover.haves(session, commitsIn(body)) : [] };
  }

  async grant({ moving, move, session, body, principal }: Step): Promise<object> {
    return await moving.mover.activate(session, move, textIn(body, "grant"), principal.id);
  }

  async leave({ moving, move, session, body, principal }: Step): Promise<object> {
    const { mover } = moving;
    const key = textIn(body, "key");
    await this.#pin(moving, key, principal);
    await this.#own(moving, session, principal);
    await moving.letGo(session, body.interrupts === true);
    const record = await this.#own(moving, session, principal);
    const to = `the machine of ${principal.name ?? "the owner"}`;
    const haves = commitsIn(body);
    const leaving = { move, to, key, haves, withSecrets: true, patience: PATIENCE };
    const { epoch, digest } = await mover.leave(record, leaving);
    const { public: own } = await mover.hostKey();
    return { key: own, epoch, digest, agent: record.agent };
  }

  async commit({ moving, move, session, body, principal }: Step): Promise<object> {
    await this.#own(moving, session, principal);
    return { grant: await moving.mover.decide(session, move, textIn(body, "digest")) };
  }

  async done({ moving, move, session, principal }: Step): Promise<object> {
    await this.#own(moving, session, principal);
    await moving.mover.arrivedThere(session, move);
    return {};
  }

  async abort({ moving, move, session, principal }: Step): Promise<object> {
    await this.#own(moving, session, principal);
    await moving.mover.giveUp(session, move);
    return {};
  }
}

interface Step {
  readonly moving: Moving;
  readonly move: string;
  readonly session: string;
  readonly body: Body;
  readonly principal: Principal;
}

const { offer, grant, leave, commit, done, abort } = MoveRoutes.prototype;
const STEPS = new Map(Object.entries({ offer, grant, leave, commit, done, abort }));

function textIn(body: Body, name: string): string {
  const value = body[name];
  if (typeof value === "string" && value.length <= 4_096) return value;
  throw new TrunklineError("usage", `'${name}' has to be a text.`);
}

function commitsIn({ commits }: Body): string[] {
  return Array.isArray(commits) ? commits.map(String) : [];
}
