import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { ACP, STANDARD, TRUNKLINE } from "../../rpc/codes.ts";
import { acpDialect } from "./dialect.ts";
import { CLIENT_METHODS, type JsonObject, METHODS, objectOf, ours } from "./methods.ts";
import type {
  AnswerParams,
  ElicitParams,
  PermissionParams,
  PromptResult,
  SettingsResult,
  UpdateParams,
} from "./schema.gen.ts";
import type { WorktreeRequest } from "../../session/workplace.ts";
import { Peer } from "../../rpc/peer.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { type Route, route, routes } from "../../rpc/route.ts";
import { VERSION } from "../../base/version.ts";
import type { Channel } from "../../wire/channel.ts";

/** A session that is there, a new one in a folder, or a new run on a revision of a repository. */
export type Wanted =
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
   * Has a person fill in a form, or visit a page (ACP elicitation). Undefined leaves the answer to other
   * clients. Left out where nobody can be asked, which the agent is told.
   */
  readonly elicit?:
    | ((params: ElicitParams & JsonObject, signal: AbortSignal) => Promise<object | undefined>)
    | undefined;
}

/** How a turn ended. */
export type Ended = PromptResult;

/** A person at a session. */
export interface Attached extends AsyncDisposable {
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
  wanted: Wanted,
  { update, ...person }: AttachOptions,
): Promise<Attached> {
  await using opening = new AsyncDisposableStack();
  const peer = new Peer(channel, undefined, {
    dialect: acpDialect,
    routes: routes(
      route(CLIENT_METHODS.update, (params) => update(params.update)),
      ...personRoutes(person),
    ),
  });
  opening.defer(() => peer.close());
  const clientCapabilities = person.elicit === undefined ? {} : QUESTIONS;
  await peer.request(METHODS.initialize, { ...HELLO, clientCapabilities });
  const { sessionId, settings } = await openSession(peer, wanted).catch(inWords);
  const open = opening.move();
  return {
    sessionId,
    settings,
    role: ours(objectOf(settings)._meta).role === "observer" ? "observer" : "controller",
    ended: peer.ended,
    prompt: async (text) => {
      const prompt = [{ type: "text", text }];
      // What is typed ahead waits for its turn. Without a model, a task fails.
      const _meta = { trunkline: { whileRunning: "queue", needsModel: true } };
      return await peer.request(METHODS.prompt, { sessionId, prompt, _meta }).catch(inWords);
    },
    cancel: () => {
      peer.notify(METHODS.cancel, { sessionId });
    },
    [Symbol.asyncDispose]: () => open.disposeAsync(),
  };
}

/** ACP initialization: a client that a person sits at. */
export const HELLO = { protocolVersion: 1, clientInfo: { name: "terminal", version: VERSION } };
/** The capabilities of a client that can ask a person. */
export const QUESTIONS = { elicitation: { form: {}, url: {} } };

/** What a person is asked and told. */
export function personRoutes({
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

export async function openSession(
  peer: Peer,
  wanted: Wanted,
): Promise<Pick<Attached, "sessionId" | "settings">> {
  if ("sessionId" in wanted) {
    const { sessionId, cwd, observe = false } = wanted;
    const _meta = observe ? { trunkline: { role: "observer" } } : undefined;
    const params = { sessionId, cwd, mcpServers: [], ...(_meta === undefined ? {} : { _meta }) };
    const settings = await peer.request(METHODS.loadSession, params);
    return { sessionId, settings };
  }
  const { remote, cwd, ...trunkline } = { remote: undefined, cwd: "", ...wanted };
  // What is undefined is not sent. A run has its files on the server: where we are means nothing there.
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

/** Has the process at the other end close a session. */
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
  try {
    const clientInfo = { name, version: VERSION };
    // The process may be stopped.
    const limit = { timeout: ANSWER_TIMEOUT };
    await peer.request(METHODS.initialize, { protocolVersion: 1, clientInfo }, limit);
    await ask(peer, limit).catch(inWords);
  } finally {
    await peer.close();
  }
}

/** The messages of error codes, which begin nearly every error and tell a person nothing. */
const CODE_NAMES = Object.values({ ...STANDARD, ...TRUNKLINE, timeout: ACP.timeout });
const CODE_NAME = new RegExp(`^(?:${CODE_NAMES.map(({ message }) => message).join("|")}): `);

/** What was answered as an error, for a person to read. */
export function inWords(error: unknown): never {
  if (!(error instanceof RpcError)) throw error;
  const { details } = (error.data ?? {}) as { readonly details?: unknown };
  const message = error.message.replace(CODE_NAME, "");
  const says = typeof details === "string" ? `${message}. ${details}` : message;
  throw new TrunklineError("unavailable", says, { cause: error });
}
