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
import type { SettingsResult } from "../../../protocol/acp/schema.gen.ts";
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

/** The dashboard's clients of sessions, one for each principal and session. */
export class SessionClients implements AsyncDisposable {
  readonly #options: SessionClientsOptions;
  readonly #clients = new Map<string, ClientEntry>();
  #sweeper: NodeJS.Timeout | undefined;

  constructor(options: SessionClientsOptions) {
    this.#options = options;
  }

  /** A client that is attached to the session. Opens the session where no process has it open. */
  async at(principal: Principal, session: Pick<ReadSession, "id" | "cwd">): Promise<SessionClient> {
    const key = keyOf(principal, session.id);
    const known = this.#clients.get(key);
    if (known !== undefined) {
      known.usedAt = performance.now();
      const client = await known.opening;
      if (!client.hasEnded) return client;
      if (this.#clients.get(key) === known) this.#clients.delete(key);
      return this.at(principal, session);
    }
    const opening = this.#open(principal, { sessionId: session.id, cwd: session.cwd });
    const entry = this.#keep(key, opening);
    opening.catch(() => {
      if (this.#clients.get(key) === entry) this.#clients.delete(key);
    });
    return opening;
  }

  /** Begins a session, as ACP's session/new does for an editor, and stays attached to it. */
  async begin(principal: Principal, wanted: SessionTarget): Promise<SessionClient> {
    const opening = this.#open(principal, wanted);
    const { sessionId } = await opening;
    this.#keep(keyOf(principal, sessionId), opening);
    return opening;
  }

  #open(principal: Principal, wanted: SessionTarget): Promise<SessionClient> {
    const { door, peer, changed } = this.#options;
    const tell = ({ sessionId }: SessionClient): void => changed(sessionId);
    const opening: Promise<SessionClient> = SessionClient.open({
      ...{ door, peer, principal, wanted },
      changed: () => {
        opening.then(tell, () => {});
      },
    });
    return opening;
  }

  #keep(key: string, opening: Promise<SessionClient>): ClientEntry {
    const entry = { opening, watchers: 0, usedAt: performance.now() };
    this.#clients.set(key, entry);
    this.#sweep();
    return entry;
  }

  /** The client, if it is attached already. */
  async known(principal: Principal, sessionId: string): Promise<SessionClient | undefined> {
    return await this.#clients.get(keyOf(principal, sessionId))?.opening.catch(() => undefined);
  }

  /** Keeps a client attached for as long as somebody looks at the session. */
  watch(principal: Principal, sessionId: string): Disposable {
    const used = this.#clients.get(keyOf(principal, sessionId));
    if (used !== undefined) used.watchers++;
    return {
      [Symbol.dispose]: () => {
        if (used === undefined) return;
        used.watchers--;
        used.usedAt = performance.now();
      },
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#sweeper);
    const clients = [...this.#clients.values()];
    this.#clients.clear();
    for (const { opening } of clients) {
      await (await opening.catch(() => undefined))?.[Symbol.asyncDispose]();
    }
  }

  #sweep(): void {
    const { idle = IDLE } = this.#options;
    this.#sweeper ??= setInterval(() => {
      for (const [key, used] of this.#clients) {
        if (used.watchers > 0 || performance.now() - used.usedAt < idle) continue;
        background(this.#closeIdle(key, used), "Leaving a session");
      }
    }, idle / 3).unref();
  }

  async #closeIdle(key: string, used: ClientEntry): Promise<void> {
    const client = await used.opening.catch(() => undefined);
    if (client?.isBusy === true || this.#clients.get(key) !== used) return;
    this.#clients.delete(key);
    await client?.[Symbol.asyncDispose]();
  }
}

function keyOf({ id }: Principal, sessionId: string): string {
  return `${sessionId} ${id}`;
}

export interface SessionClientOptions extends Pick<SessionClientsOptions, "door" | "peer"> {
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

/**
 * The dashboard as a client of one session, for one principal: it speaks ACP to the door of this
 * server, which reaches the session wherever it is open, exactly as for an editor.
 */
export class SessionClient implements AsyncDisposable {
  readonly sessionId: string;
  readonly settings: SettingsResult;
  readonly questions: Questions;
  readonly #peer: Peer;
  /** Prompts that were not answered yet. */
  #prompts = 0;

  private constructor(id: string, peer: Peer, settings: SettingsResult, questions: Questions) {
    this.sessionId = id;
    this.#peer = peer;
    this.settings = settings;
    this.questions = questions;
  }

  /** Attaches to a session, which is opened where no process has it open, or begins one. */
  static async open(options: SessionClientOptions): Promise<SessionClient> {
    const { door, peer: peerOptions, principal, wanted } = options;
    const [ours, theirs] = memoryPair();
    const conversation = new AcpConversation(door, theirs, { peer: peerOptions, principal });
    background(
      conversation.ended.then(() => conversation.close(0)),
      "Ending a conversation of the dashboard",
    );
    const questions = new Questions(options.changed);
    const peer = new Peer(ours, undefined, { dialect: acpDialect, routes: questions.routes });
    try {
      await peer.request(METHODS.initialize, {
        protocolVersion: 1,
        clientInfo: { name: "dashboard", version: VERSION },
        clientCapabilities: { elicitation: { form: {}, url: {} } },
      });
      const { sessionId, settings } =
        "sessionId" in wanted ? await resume(peer, wanted) : await openSession(peer, wanted);
      return new SessionClient(sessionId, peer, settings, questions);
    } catch (error) {
      await peer.close();
      throw inWords(error);
    }
  }

  get hasEnded(): boolean {
    return this.#peer.hasEnded;
  }

  /** Whether a prompt waits for its answer, which closing would lose. */
  get isBusy(): boolean {
    return this.#prompts > 0;
  }

  /** Sends a prompt. Resolves when its turn has ended. */
  async prompt(
    prompt: readonly ContentBlock[],
    whileRunning: PromptBody["whileRunning"] = "queue",
  ): Promise<void> {
    const { sessionId } = this;
    const _meta = { trunkline: { whileRunning } };
    this.#prompts++;
    try {
      await this.#peer.request(METHODS.prompt, { sessionId, prompt, _meta });
    } catch (error) {
      throw inWords(error);
    } finally {
      this.#prompts--;
    }
  }

  cancel(): void {
    this.#peer.notify(METHODS.cancel, { sessionId: this.sessionId });
  }

  async choose({ kind, id, value }: SettingBody): Promise<void> {
    const { sessionId } = this;
    const chosen =
      kind === "mode"
        ? this.#peer.request(METHODS.setMode, { sessionId, modeId: id })
        : kind === "model"
          ? this.#peer.request(METHODS.setModel, { sessionId, modelId: id })
          : this.#peer.request(METHODS.setConfigOption, { sessionId, configId: id, value });
    await chosen.catch((error: unknown) => {
      throw inWords(error);
    });
  }

  /** Answers a permission request. Throws "conflict" where the answer does not count. */
  async permit(requestId: string, optionId: string): Promise<void> {
    const answer = { sessionId: this.sessionId, requestId, optionId };
    await this.#peer.request(METHODS.answer, answer).catch((error: unknown) => {
      const known = fromWire(error);
      if (!(known instanceof SessionError)) throw inWords(error);
      throw new TrunklineError("conflict", saidIn(known), { cause: error });
    });
  }

  /** Deletes the session. */
  async discard(): Promise<void> {
    await this.#peer.request(METHODS.deleteSession, { sessionId: this.sessionId });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#peer.close();
  }
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
class Questions {
  readonly #changed: () => void;
  readonly #questions = new Map<string, Question>();

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  readonly routes = routes(
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
        this.#questions.delete(id);
        this.#changed();
      };
      const answer = (result: object): void => {
        end();
        resolve(result);
      };
      this.#questions.set(id, { ask, answer });
      signal.addEventListener("abort", end);
      this.#changed();
      return promise;
    }),
  );

  /** Without permission requests: those are in the log of the session. */
  get asks(): readonly AskRow[] {
    return Array.from(this.#questions.values(), ({ ask }) => ask);
  }

  /** Answers a question; false if it is not asked any more. */
  answer(id: string, result: object): boolean {
    const question = this.#questions.get(id);
    question?.answer(result);
    return question !== undefined;
  }
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
