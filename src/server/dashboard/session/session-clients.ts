import { background } from "../../../base/background.ts";
import type { Principal } from "../../../base/principal.ts";
import type { AcpConnection } from "../../../protocol/acp/connection.ts";
import {
  type AttachedSession,
  openSession,
  type SessionTarget,
} from "../../../protocol/acp/attach.ts";
import type { AcpDoor } from "../../../protocol/acp/door.ts";
import type { PeerOptions } from "../../../rpc/peer-options.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { VERSION } from "../../../base/version.ts";
import { acpDialect } from "../../../protocol/acp/dialect.ts";
import { CLIENT_METHODS, METHODS } from "../../../protocol/acp/methods.ts";
import { AcpConversation } from "../../../protocol/acp/serve.ts";
import { fromWire } from "../../../protocol/acp/session-errors.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import { Peer } from "../../../rpc/peer.ts";
import { route, routes } from "../../../rpc/route.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { ContentBlock } from "../../../session/agent.ts";
import { SessionError } from "../../../session/session-error.ts";
import { memoryPair } from "../../../wire/channel/memory.ts";
import type { AskRow, PromptBody, SettingBody } from "../session-api.ts";

export interface SessionClientsOptions {
  readonly door: AcpDoor;
  readonly peer: PeerOptions<AcpConnection>;
  /** What is asked in a session has changed. */
  readonly changed: (sessionId: string) => void;
  /** Milliseconds without use after which a client leaves its session. */
  readonly idle?: number;
}

interface ClientEntry {
  readonly opening: Promise<SessionClient>;
  /** Streams that show the session. */
  watchers: number;
  usedAt: number;
}

const IDLE = 30_000;

export type SessionClients = ReturnType<typeof sessionClients>;

/** The dashboard's clients of sessions, one for each principal and session. */
export function sessionClients(options: SessionClientsOptions) {
  const { idle = IDLE, changed } = options;
  const clients = new Map<string, ClientEntry>();
  let sweeper: NodeJS.Timeout | undefined;

  /** A client that is attached to the session. Opens the session where no process has it open. */
  async function at(by: Principal, of: Pick<ReadSession, "id" | "cwd">): Promise<SessionClient> {
    const key = keyOf(by, of.id);
    const used = clients.get(key);
    if (used !== undefined) {
      used.usedAt = performance.now();
      const client = await used.opening;
      if (!client.hasEnded) return client;
      if (clients.get(key) === used) clients.delete(key);
      return at(by, of);
    }
    const opening = open(by, { sessionId: of.id, cwd: of.cwd });
    const entry = keep(key, opening);
    opening.catch(() => {
      if (clients.get(key) === entry) clients.delete(key);
    });
    return opening;
  }

  /** Begins a session, as ACP's session/new does for an editor, and stays attached to it. */
  async function begin(principal: Principal, wanted: SessionTarget): Promise<SessionClient> {
    const opening = open(principal, wanted);
    const { sessionId } = await opening;
    keep(keyOf(principal, sessionId), opening);
    return opening;
  }

  function open(principal: Principal, wanted: SessionTarget): Promise<SessionClient> {
    const tell = ({ sessionId }: SessionClient): void => changed(sessionId);
    const opening: Promise<SessionClient> = openSessionClient({
      ...{ ...options, principal, wanted },
      changed: () => {
        opening.then(tell, () => {});
      },
    });
    return opening;
  }

  function keep(key: string, opening: Promise<SessionClient>): ClientEntry {
    const entry = { opening, watchers: 0, usedAt: performance.now() };
    clients.set(key, entry);
    sweep();
    return entry;
  }

  /** The client, if it is attached already. */
  async function known(principal: Principal, sessionId: string) {
    return await clients.get(keyOf(principal, sessionId))?.opening.catch(() => undefined);
  }

  /** Keeps a client attached for as long as somebody looks at the session. */
  function watch(principal: Principal, sessionId: string): Disposable {
    const used = clients.get(keyOf(principal, sessionId));
    if (used !== undefined) used.watchers++;
    return {
      [Symbol.dispose]: () => {
        if (used === undefined) return;
        used.watchers--;
        used.usedAt = performance.now();
      },
    };
  }

  function sweep(): void {
    sweeper ??= setInterval(() => {
      for (const [key, used] of clients) {
        if (used.watchers > 0 || performance.now() - used.usedAt < idle) continue;
        background(closeIdle(key, used), "Leaving a session");
      }
    }, idle / 3).unref();
  }

  async function closeIdle(key: string, used: ClientEntry): Promise<void> {
    const client = await used.opening.catch(() => undefined);
    if (client?.isBusy === true || clients.get(key) !== used) return;
    clients.delete(key);
    await client?.[Symbol.asyncDispose]();
  }

  return {
    ...{ at, begin, known, watch },
    async [Symbol.asyncDispose](): Promise<void> {
      clearInterval(sweeper);
      const left = [...clients.values()];
      clients.clear();
      for (const { opening } of left) {
        await (await opening.catch(() => undefined))?.[Symbol.asyncDispose]();
      }
    },
  };
}

function keyOf({ id }: Principal, sessionId: string): string {
  return `${sessionId} ${id}`;
}

interface SessionClientOptions extends Pick<SessionClientsOptions, "door" | "peer"> {
  readonly principal: Principal;
  /** The session, or what is to be begun. */
  readonly wanted: SessionTarget;
  /** What is asked in the session has changed. */
  readonly changed: () => void;
}

interface Question {
  readonly ask: AskRow;
  readonly answer: (result: object) => void;
}

export type SessionClient = Awaited<ReturnType<typeof openSessionClient>>;

/**
 * The dashboard as a client of one session, for one principal: it speaks ACP to the door of this
 * server, which reaches the session wherever it is open, exactly as for an editor.
 */
async function openSessionClient(options: SessionClientOptions) {
  const { door, peer: peerOptions, principal, wanted } = options;
  const [ours, theirs] = memoryPair();
  const conversation = new AcpConversation(door, theirs, { peer: peerOptions, principal });
  background(
    conversation.ended.then(() => conversation.close(0)),
    "Ending a conversation of the dashboard",
  );
  const questions = questionsOf(options.changed);
  const peer = new Peer(ours, undefined, { dialect: acpDialect, routes: questions.routes });
  const begin = async () => {
    await peer.request(METHODS.initialize, {
      protocolVersion: 1,
      clientInfo: { name: "dashboard", version: VERSION },
      clientCapabilities: { elicitation: { form: {}, url: {} } },
    });
    return "sessionId" in wanted ? await resume(peer, wanted) : await openSession(peer, wanted);
  };
  const { sessionId, settings } = await begin().catch(async (error: unknown) => {
    await peer.close();
    throw inWords(error);
  });
  /** Prompts that were not answered yet. */
  let prompts = 0;

  /** Sends a prompt. Resolves when its turn has ended. */
  async function prompt(
    blocks: readonly ContentBlock[],
    whileRunning: PromptBody["whileRunning"] = "queue",
  ): Promise<void> {
    const _meta = { trunkline: { whileRunning } };
    prompts++;
    try {
      await peer.request(METHODS.prompt, { sessionId, prompt: blocks, _meta });
    } catch (error) {
      throw inWords(error);
    } finally {
      prompts--;
    }
  }

  async function choose({ kind, id, value }: SettingBody): Promise<void> {
    const chosen =
      kind === "mode"
        ? peer.request(METHODS.setMode, { sessionId, modeId: id })
        : kind === "model"
          ? peer.request(METHODS.setModel, { sessionId, modelId: id })
          : peer.request(METHODS.setConfigOption, { sessionId, configId: id, value });
    await chosen.catch((error: unknown) => {
      throw inWords(error);
    });
  }

  /** Answers a permission request. Throws "conflict" where the answer does not count. */
  async function permit(requestId: string, optionId: string): Promise<void> {
    const answer = { sessionId, requestId, optionId };
    await peer.request(METHODS.answer, answer).catch((error: unknown) => {
      const known = fromWire(error);
      if (!(known instanceof SessionError)) throw inWords(error);
      throw new TrunklineError("conflict", saidIn(known), { cause: error });
    });
  }

  return {
    ...{ sessionId, settings, questions, prompt, choose, permit },
    get hasEnded(): boolean {
      return peer.hasEnded;
    },
    /** Whether a prompt waits for its answer, which closing would lose. */
    get isBusy(): boolean {
      return prompts > 0;
    },
    cancel: () => peer.notify(METHODS.cancel, { sessionId }),
    /** Deletes the session. */
    discard: async (): Promise<void> => {
      await peer.request(METHODS.deleteSession, { sessionId });
    },
    [Symbol.asyncDispose]: () => peer.close(),
  };
}

/** Without what was said in it: the dashboard reads that from the log. */
async function resume(
  peer: Peer,
  { sessionId, cwd }: { readonly sessionId: string; readonly cwd: string },
): Promise<Pick<AttachedSession, "sessionId" | "settings">> {
  const params = { sessionId, cwd, mcpServers: [] };
  return { sessionId, settings: await peer.request(METHODS.resumeSession, params) };
}

/** The requests to a client that are not answered yet. */
function questionsOf(changed: () => void) {
  const open = new Map<string, Question>();
  const own = routes(
    route(CLIENT_METHODS.update, () => {}),
    // The log of the session has it; a person answers it by its id.
    route(CLIENT_METHODS.requestPermission, () => new Promise<never>(() => {})),
    route(CLIENT_METHODS.elicit, (question, { signal }) => {
      const { promise, resolve } = Promise.withResolvers<object>();
      const id = crypto.randomUUID();
      const ask: AskRow = {
        id,
        kind: "question",
        at: Date.now(),
        question: { ...question },
      };
      const end = (): void => {
        open.delete(id);
        changed();
      };
      const answer = (result: object): void => {
        end();
        resolve(result);
      };
      open.set(id, { ask, answer });
      signal.addEventListener("abort", end);
      changed();
      return promise;
    }),
  );

  /** Answers a question; false if it is not asked any more. */
  function answer(id: string, result: object): boolean {
    const question = open.get(id);
    question?.answer(result);
    return question !== undefined;
  }

  return {
    routes: own,
    /** Without permission requests: those are in the log of the session. */
    asks: () => Array.from(open.values(), ({ ask }) => ask),
    answer,
  };
}

/** The error of a response, with a message for a person. */
function inWords(error: unknown): unknown {
  const known = fromWire(error);
  if (!(known instanceof RpcError) && !(known instanceof SessionError)) return error;
  // A prompt over its limit is an invalid request.
  const isWrong = [STANDARD.invalidParams.code, STANDARD.invalidRequest.code].includes(
    Number(known.code),
  );
  const code = known instanceof SessionError ? known.code : isWrong ? "usage" : "unavailable";
  return new TrunklineError(code, saidIn(known), { cause: error });
}

function saidIn({ data, message }: RpcError | SessionError): string {
  const { details } = (data ?? {}) as { readonly details?: unknown };
  return typeof details === "string" ? details : message;
}
