import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { ACP, STANDARD, TRUNKLINE } from "../../rpc/codes.ts";
import { acpDialect } from "./dialect.ts";
import { CLIENT_METHODS, type JsonObject, listOf, METHODS, objectOf, ours } from "./methods.ts";
import type {
  AnswerParams,
  ElicitParams,
  PermissionParams,
  PromptResult,
  SettingsResult,
  UpdateParams,
} from "./schema.gen.ts";
import type { ContentBlock } from "../../session/agent.ts";
import type { WorktreeRequest } from "../../session/workplace.ts";
import { Peer } from "../../rpc/peer.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { type Route, route, routes } from "../../rpc/route.ts";
import { VERSION } from "../../base/version.ts";
import type { Channel } from "../../wire/channel.ts";

/** An existing session, a new one in a folder, or a new run on a revision of a repository. */
export type SessionTarget =
  | {
      readonly sessionId: string;
      readonly cwd: string;
      /** Watches the session and does not take part. */
      readonly observe?: boolean | undefined;
    }
  | {
      readonly cwd: string;
      readonly agent?: string | undefined;
      /** The session gets a work tree of its own. */
      readonly worktree?: true | WorktreeRequest | undefined;
    }
  | {
      readonly remote: RemoteRevision;
      readonly agent?: string | undefined;
      /** Whether the branch is offered for merging; the server decides where it is left out. */
      readonly pullRequest?: boolean | undefined;
      /** Set-up is tried even if it has just failed. */
      readonly retrySetup?: boolean | undefined;
    };

/** Remote run guide, "RemoteGitInfo Fields". */
interface RemoteRevision {
  readonly url: string;
  readonly branch: string;
  readonly revision: string;
}

export interface AttachOptions {
  /** The session has to wait until a worker has a free slot. */
  readonly queued?: ((message: string) => void) | undefined;
  readonly update: (update: UpdateParams["update"]) => void;
  /**
   * Chooses an option. `_meta.trunkline.why` says why the answer would not count. Null cancels the
   * request; undefined leaves the answer to other clients.
   */
  readonly permit: (
    params: PermissionParams,
    signal: AbortSignal,
  ) => Promise<string | null | undefined>;
  /**
   * Shows a person a form, or a page to visit (ACP elicitation). Undefined leaves the answer to other
   * clients. Left out if nobody can be asked, which the agent is told.
   */
  readonly elicit?:
    | ((params: ElicitParams & JsonObject, signal: AbortSignal) => Promise<object | undefined>)
    | undefined;
}

/** How a turn ended. */
export type Ended = PromptResult;

/** A person at a session. */
export interface AttachedSession extends AsyncDisposable {
  readonly sessionId: string;
  /** What it may do there: a token may be limited to observing. */
  readonly role: "controller" | "observer";
  /** Its modes, models and options when it was opened. */
  readonly settings: SettingsResult;
  prompt(text: string): Promise<Ended>;
  cancel(): void;
  /** Resolves when the gateway is gone. */
  readonly ended: Promise<void>;
}

/** Opens a session, shows all that was said in it, and takes part from then on. */
export async function attachTo(
  channel: Channel<string>,
  wanted: SessionTarget,
  { update, ...person }: AttachOptions,
): Promise<AttachedSession> {
  await using opening = new AsyncDisposableStack();
  const listener = { ...person, update: (_: string, each: UpdateParams["update"]) => update(each) };
  const client = opening.use(await TerminalClient.open(channel, listener));
  const { sessionId, settings } = await client.open(wanted);
  const open = opening.move();
  return {
    sessionId,
    settings,
    role: ours(objectOf(settings)._meta).role === "observer" ? "observer" : "controller",
    ended: client.ended,
    // A prompt that is typed during a turn waits for its end.
    prompt: (text) => client.prompt(sessionId, [{ type: "text", text }], { whileRunning: "queue" }),
    cancel: () => client.cancel(sessionId),
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

export interface TerminalListener extends Omit<AttachOptions, "update"> {
  readonly update: (sessionId: string, update: UpdateParams["update"]) => void;
  /** What the terminal can show in addition to text, questions and tool calls. */
  readonly shows?: JsonObject;
}

/** The capabilities of a client that can ask a person. */
const QUESTIONS = { elicitation: { form: {}, url: {} } };

/** A terminal as a client of sessions. The person is in one session at a time. */
export class TerminalClient implements AsyncDisposable {
  readonly #peer: Peer;

  private constructor(peer: Peer) {
    this.#peer = peer;
  }

  static async open(
    channel: Channel<string>,
    { update, shows, ...person }: TerminalListener,
  ): Promise<TerminalClient> {
    const peer = new Peer(channel, undefined, {
      dialect: acpDialect,
      routes: routes(
        route(CLIENT_METHODS.update, (params) => update(params.sessionId, params.update)),
        ...personRoutes(person),
      ),
    });
    await using opening = new AsyncDisposableStack();
    const client = opening.use(new TerminalClient(peer));
    await peer.request(METHODS.initialize, {
      protocolVersion: 1,
      clientInfo: { name: "terminal", version: VERSION },
      clientCapabilities: { ...shows, ...(person.elicit && QUESTIONS) },
    });
    opening.move();
    return client;
  }

  /** Resolves when the gateway is gone. */
  get ended(): Promise<void> {
    return this.#peer.ended;
  }

  /** Opens a session. What was said in it is shown by updates before this resolves. */
  open(wanted: SessionTarget): Promise<OpenedSession> {
    return openSession(this.#peer, wanted).catch(inWords);
  }

  /**
   * Sends a prompt. A task fails if there is no model. Aborting the signal withdraws the prompt while it
   * waits.
   */
  prompt(
    sessionId: string,
    prompt: readonly ContentBlock[],
    how: { readonly whileRunning: "steer" | "queue"; readonly echo?: true },
    signal?: AbortSignal,
  ): Promise<Ended> {
    const _meta = { trunkline: { ...how, needsModel: true } };
    const params = { sessionId, prompt: [...prompt], _meta };
    return this.#peer.request(METHODS.prompt, params, { signal }).catch(inWords);
  }

  /** The sessions of the gateway, by last use. */
  async list(): Promise<readonly JsonObject[]> {
    const { sessions } = await this.#peer.request(METHODS.listSessions, {}).catch(inWords);
    return listOf(sessions);
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
  session: Pick<AttachedSession, "ended">,
  turn: Promise<Ended>,
): Promise<Ended> {
  const lost = session.ended.then((): never => {
    throw new TrunklineError("closed", "The connection was closed. The session is stored.");
  });
  return Promise.race([turn, lost]);
}

/** The routes by which a person is asked and informed. */
function personRoutes({
  permit,
  elicit,
  queued,
}: Omit<AttachOptions, "update">): Route<undefined>[] {
  // Another client may answer: this one does not.
  const leaveIt = (): Promise<never> => new Promise(() => {});
  const asking =
    elicit &&
    route(CLIENT_METHODS.elicit, async (params, { signal }) => {
      return (await elicit({ ...params }, signal)) ?? leaveIt();
    });
  return [
    ...(asking === undefined ? [] : [asking]),
    route(CLIENT_METHODS.queued, ({ message }) => queued?.(visibleLine(message))),
    route(CLIENT_METHODS.requestPermission, async (params, { signal }) => {
      const optionId = await permit(params, signal);
      if (optionId === null) return { outcome: { outcome: "cancelled" } };
      return optionId === undefined ? leaveIt() : { outcome: { outcome: "selected", optionId } };
    }),
  ];
}

/** A session, and its modes, models and options when it was opened. */
export type OpenedSession = Pick<AttachedSession, "sessionId" | "settings">;

export async function openSession(peer: Peer, wanted: SessionTarget): Promise<OpenedSession> {
  if ("sessionId" in wanted) {
    const { sessionId, cwd, observe = false } = wanted;
    const _meta = observe ? { trunkline: { role: "observer" } } : undefined;
    const params = { sessionId, cwd, mcpServers: [], ...(_meta === undefined ? {} : { _meta }) };
    return { sessionId, settings: await peer.request(METHODS.loadSession, params) };
  }
  const { remote, cwd, ...trunkline } = { remote: undefined, cwd: "", ...wanted };
  // Undefined members are not sent. A run has its files on the server, so the current folder means nothing
  // there.
  const _meta = { remote, trunkline };
  const settings = await peer.request(METHODS.newSession, { cwd, mcpServers: [], _meta });
  return { sessionId: settings.sessionId, settings };
}

/** Milliseconds. */
const ANSWER_TIMEOUT = 10_000;

/** Answers a permission request of a session that the process at the other end has open. */
export function answerAt(
  channel: Channel<string>,
  answer: AnswerParams,
  name: string,
): Promise<void> {
  return askOnce(channel, name, (peer, limit) => peer.request(METHODS.answer, answer, limit));
}

/** Asks the process at the other end to close a session. */
export function closeAt(channel: Channel<string>, sessionId: string, name: string): Promise<void> {
  return askOnce(channel, name, (peer, limit) =>
    peer.request(METHODS.closeSession, { sessionId }, limit),
  );
}

async function askOnce(
  channel: Channel<string>,
  name: string,
  ask: (peer: Peer, limit: { readonly timeout: number }) => Promise<unknown>,
): Promise<void> {
  const peer = new Peer(channel, undefined, { dialect: acpDialect, routes: routes() });
  await using ends = new AsyncDisposableStack();
  ends.defer(() => peer.close());
  const clientInfo = { name, version: VERSION };
  // The process may be stopped.
  const limit = { timeout: ANSWER_TIMEOUT };
  await peer.request(METHODS.initialize, { protocolVersion: 1, clientInfo }, limit);
  await ask(peer, limit).catch(inWords);
}

/** The messages of error codes. Nearly every error begins with one, and they tell a person nothing. */
const CODE_NAMES = Object.values({ ...STANDARD, ...TRUNKLINE, timeout: ACP.timeout });
const CODE_NAME = new RegExp(`^(?:${CODE_NAMES.map(({ message }) => message).join("|")}): `);

/** Throws an error of the other side in words for a person. */
function inWords(error: unknown): never {
  if (!(error instanceof RpcError)) throw error;
  const { details } = (error.data ?? {}) as { readonly details?: unknown };
  const message = error.message.replace(CODE_NAME, "");
  const says = typeof details === "string" ? `${message}. ${details}` : message;
  throw new TrunklineError("unavailable", says, { cause: error });
}
