import { setTimeout as delay } from "node:timers/promises";

import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Rate } from "../../base/limit/rate-limiter.ts";
import type {
  ClientFiles,
  TerminalExit,
  TerminalHost,
  TerminalOutput,
  TurnClient,
} from "../agent.ts";
import type { ClientCapabilities, ClientMethod, SessionClient } from "./client.ts";
import { PendingQuestion } from "./questions.ts";
import type { SessionLimits } from "../limits.ts";
import { SessionError } from "../session-error.ts";
import { visibleQuestion } from "../visible-request.ts";

export interface ServicesOptions {
  readonly sessionId: string;
  readonly limits: SessionLimits;
  readonly signal: AbortSignal | undefined;
  /** Whether the files of the session are those that clients have open. */
  readonly hasFiles: boolean;
  /** Whether commands may run at clients. */
  readonly hasTerminals: boolean;
  /** The attached clients that control the session, the one that prompted first. */
  readonly clients: () => readonly SessionClient[];
  /** Whether a client's answer to a question counts. */
  readonly mayAnswer: (client: SessionClient) => boolean;
  /** Asks the attached clients until one has answered. */
  readonly askAll: (pending: PendingQuestion, message: string | undefined) => Promise<unknown>;
  /** Called when a request has to wait because of its rate. */
  readonly waiting: (words: string) => void;
  /** Suspends the prompt timeout while a client is asked. */
  readonly whileAsking: <T>(work: () => Promise<T>) => Promise<T>;
}

/**
 * The services of the attached clients for an agent. ACP initialization: a method is called only where
 * the client has announced the capability, so a service that no client offers is absent.
 */
export function clientServices(options: ServicesOptions): TurnClient {
  const clients = options.clients();
  const offering = (
    capability: keyof ClientCapabilities,
    among = clients,
  ): SessionClient | undefined => among.find(({ capabilities }) => capabilities[capability]);
  const reader = options.hasFiles ? offering("readTextFile") : undefined;
  const writer = options.hasFiles ? offering("writeTextFile") : undefined;
  const terminal = options.hasTerminals ? offering("terminal") : undefined;
  const answering = clients.filter(options.mayAnswer);
  const canAsk = offering("forms", answering) ?? offering("pages", answering);
  const { sessionId } = options;
  const elicit: TurnClient["elicit"] = async (params) => {
    const kind = params.mode === "url" ? "pages" : "forms";
    // If no client can show it, the answer is the same as when a person closes the form.
    if (offering(kind, answering) === undefined) return { action: "cancel" };
    const question = { mode: "form", ...visibleQuestion(params), sessionId };
    const { message } = question as { readonly message?: unknown };
    const pending = new PendingQuestion({
      canAnswer: (client) => client.capabilities[kind] && options.mayAnswer(client),
      send: (client, signal) => ask({ ...options, signal }, client, "elicitation/create", question),
    });
    const words = typeof message === "string" ? message : undefined;
    return options.whileAsking(() => options.askAll(pending, words));
  };
  return defined<TurnClient>({
    fs: (reader ?? writer) && files(options, reader, writer),
    terminal: terminal && terminals(options, terminal),
    elicit: canAsk && elicit,
    notices: clients.some(({ capabilities }) => capabilities.notices),
    compaction: clients.some(({ capabilities }) => capabilities.compaction),
  });
}

function files(
  options: ServicesOptions,
  reader: SessionClient | undefined,
  writer: SessionClient | undefined,
): ClientFiles {
  const { sessionId } = options;
  return defined<ClientFiles>({
    readTextFile:
      reader &&
      (async (path, part) => {
        const params = { sessionId, path, ...part };
        const answer = await ask(options, reader, "fs/read_text_file", params);
        return (answer as { content: string }).content;
      }),
    writeTextFile:
      writer &&
      (async (path, content) => {
        await ask(options, writer, "fs/write_text_file", { sessionId, path, content });
      }),
  });
}

function terminals(options: ServicesOptions, client: SessionClient): TerminalHost {
  const { sessionId } = options;
  return {
    async create(command) {
      const created = await ask(options, client, "terminal/create", { sessionId, ...command });
      const { terminalId } = created as { terminalId: string };
      const about = { sessionId, terminalId };
      // Reading, killing and releasing must work after the turn has ended, too.
      const free = { ...options, signal: undefined };
      return {
        terminalId,
        output: async () => (await ask(free, client, "terminal/output", about)) as TerminalOutput,
        waitForExit: async () =>
          (await ask(options, client, "terminal/wait_for_exit", about)) as TerminalExit,
        kill: async () => {
          await ask(free, client, "terminal/kill", about);
        },
        release: async () => {
          await ask(free, client, "terminal/release", about);
        },
      };
    },
  };
}

/** Waiting for more milliseconds than this is reported to people. */
const NOTICED = 1_000;

function waitingWords(method: string, wait: number, { limit, windowMs }: Rate): string {
  const why = `the editor is sent at most ${limit} \`${method}\` in ${windowMs / 1000} s`;
  return `Waiting ${Math.ceil(wait / 1000)} s: ${why}. \`limits.messages\` changes that.`;
}

/**
 * Asks a client. ACP message specification § Rate Limiting: above the rate, the request waits.
 * § Timeout Specifications: a request whose timeout allows a retry is sent once more.
 */
async function ask(
  { sessionId, limits, signal, waiting, whileAsking }: ServicesOptions,
  client: SessionClient,
  method: ClientMethod,
  params: object,
): Promise<unknown> {
  const { maxSize = Infinity, timeout, retry, rate } = limits.ask(method);
  const { path, content } = params as { path?: unknown; content?: unknown };
  if (typeof content === "string" && Buffer.byteLength(content) > maxSize) {
    const why = `Cannot send the content of '${String(path)}': it is over ${maxSize} bytes.`;
    throw new SessionError("file-too-large", why, { path });
  }
  return whileAsking(async () => {
    for (let attempt = 1; ; attempt++) {
      for (let wait = rate?.take(sessionId) ?? 0; wait > 0; wait = rate?.take(sessionId) ?? 0) {
        if (rate !== undefined && wait >= NOTICED) waiting(waitingWords(method, wait, rate.rate));
        await delay(wait, undefined, { signal, ref: false });
      }
      try {
        return await client.ask(method, params, { signal, timeout });
      } catch (error) {
        const isLate = error instanceof TrunklineError && error.code === "timeout";
        if (!isLate || !retry || attempt > 1) throw error;
      }
    }
  });
}
