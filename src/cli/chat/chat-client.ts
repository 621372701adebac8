import {
  type Attached,
  type AttachOptions,
  type Ended,
  HELLO,
  inWords,
  openSession,
  personRoutes,
  QUESTIONS,
  type Wanted,
} from "../../protocol/acp/attach.ts";
import { acpDialect } from "../../protocol/acp/dialect.ts";
import { CLIENT_METHODS, METHODS } from "../../protocol/acp/methods.ts";
import { Peer } from "../../rpc/peer.ts";
import { route, routes } from "../../rpc/route.ts";
import type { ContentBlock } from "../../session/agent.ts";
import type { Channel } from "../../wire/channel.ts";
import { firstLine } from "../shell/layout.ts";
import type { PickerItem } from "./picker.ts";
import { type Json, wordsOf } from "../transcript/tool-content.ts";
import { TrunklineError } from "../../base/errors.ts";

export interface ChatListener extends Omit<AttachOptions, "update"> {
  readonly update: (sessionId: string, update: Json) => void;
}

export type ChatSession = Pick<Attached, "sessionId" | "settings">;

/** What the terminal shows. */
const CAPABILITIES = { session: { notices: {}, compaction: {} }, ...QUESTIONS };

/** The terminal as a client of sessions, of which the person is at one at a time. */
export class ChatClient implements AsyncDisposable {
  readonly #peer: Peer;

  private constructor(peer: Peer) {
    this.#peer = peer;
  }

  static async open(channel: Channel<string>, listener: ChatListener): Promise<ChatClient> {
    const { update, ...person } = listener;
    const peer = new Peer(channel, undefined, {
      dialect: acpDialect,
      routes: routes(
        route(CLIENT_METHODS.update, (params) => update(params.sessionId, params.update)),
        ...personRoutes(person),
      ),
    });
    await peer.request(METHODS.initialize, { ...HELLO, clientCapabilities: CAPABILITIES });
    return new ChatClient(peer);
  }

  /** Resolves when the gateway is gone. */
  get ended(): Promise<void> {
    return this.#peer.ended;
  }

  /** Opens a session. What was said in it is shown by updates before this resolves. */
  open(wanted: Wanted): Promise<ChatSession> {
    return openSession(this.#peer, wanted).catch(inWords);
  }

  /** Sends a prompt. Aborting the signal takes it back while it waits. */
  prompt(
    sessionId: string,
    prompt: readonly ContentBlock[],
    whileRunning: "steer" | "queue",
    signal: AbortSignal,
  ): Promise<Ended> {
    const _meta = { trunkline: { whileRunning, echo: true, needsModel: true } };
    const params = { sessionId, prompt: [...prompt], _meta };
    return this.#peer.request(METHODS.prompt, params, { signal }).catch(inWords);
  }

  /** The sessions of the gateway, by last use. */
  async list(): Promise<readonly PickerItem[]> {
    const { sessions } = await this.#peer.request(METHODS.listSessions, {}).catch(inWords);
    return (Array.isArray(sessions) ? (sessions as Json[]) : []).map((each) => ({
      value: wordsOf(each.sessionId),
      label: firstLine(wordsOf(each.title) || "(no prompt yet)").slice(0, 60),
      hint: wordsOf(each.cwd),
    }));
  }

  cancel(sessionId: string): void {
    this.#peer.notify(METHODS.cancel, { sessionId });
  }

  async setMode(sessionId: string, modeId: string): Promise<void> {
    await this.#peer.request(METHODS.setMode, { sessionId, modeId }).catch(inWords);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer.close();
  }
}

/** Resolves when the turn ends; rejects if the connection is lost. */
export async function withLoss(
  session: Pick<Attached, "ended">,
  turn: Promise<Ended>,
): Promise<Ended> {
  const lost = session.ended.then((): never => {
    throw new TrunklineError("closed", "The connection was closed. The session is stored.");
  });
  return Promise.race([turn, lost]);
}
