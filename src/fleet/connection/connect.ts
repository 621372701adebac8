import { isIP } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { checkServerIdentity, type PeerCertificate } from "node:tls";
import {
  connect,
  errors,
  type Msg,
  type NatsConnection,
  type Subscription,
} from "@nats-io/transport-node";
import { atMost, untilAborted } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { holdSecret } from "../../base/text/mask.ts";
import type { Subjects } from "../subjects.ts";
import { credentialsFrom, userAndPassword } from "./credentials.ts";

/** The servers of NATS, of which any will do. */
interface ServerUrls {
  /** As `host:port`. */
  readonly servers: readonly string[];
  readonly isTls: boolean;
  readonly user?: string;
  readonly password?: string;
}

const SCHEMES: readonly string[] = ["nats:", "tls:"];

/**
 * Reads `nats://host:4222`, or several of them with commas between. `isTyped` says that it came from the
 * command line, which every user of the machine can read, so it must have no password.
 */
export function readServerUrls(text: string, isTyped = false): ServerUrls {
  const urls = text.split(",").map((each) => parse(each.trim()));
  const secret = urls.find(({ username, password }) => username !== "" || password !== "");
  if (secret !== undefined && isTyped) {
    throw new TrunklineError(
      "usage",
      `Cannot use credentials in the address of NATS on the command line, since every user of this ` +
        `machine can read it. Put them into a file, and name it in \`fleet.credentials\` of the configuration.`,
    );
  }
  const password = decodeURIComponent(secret?.password ?? "");
  holdSecret(password);
  return {
    servers: urls.map(({ host, port }) => (port === "" ? `${host}:4222` : host)),
    isTls: urls.some(({ protocol }) => protocol === "tls:"),
    ...(secret && { user: decodeURIComponent(secret.username), password }),
  };
}

function parse(text: string): URL {
  const withScheme = text.includes("://") ? text : `nats://${text}`;
  const url = URL.canParse(withScheme) ? new URL(withScheme) : undefined;
  if (url === undefined || url.hostname === "" || !SCHEMES.includes(url.protocol)) {
    const shown = text.replace(/\/\/.*@/, "//…@");
    const says = `Cannot read the address of NATS '${shown}': expected nats://HOST:PORT or tls://HOST:PORT.`;
    throw new TrunklineError("usage", says);
  }
  return url;
}

/** Milliseconds. */
const CONNECT_TIMEOUT = 5_000;
const FLUSH_TIMEOUT = 1_000;
/** Servers of NATS begin an election 4 to 9 s after the last sign of their leader. */
const ELECTION_TIMEOUT = 15_000;
const ANSWER_TIMEOUT = 2_000;
/** Milliseconds between two checks whether the servers have a majority again. */
const MAJORITY_POLL = 250;
/** Milliseconds between two looks whether the server of this connection can store anything. */
const LOOK_EVERY = 3_000;
/** How often in a row it cannot, until another server is tried. */
const MOST_VAIN = 2;
const RECONNECT_WAIT = 200;
const RECONNECT_JITTER = 800;
const FIRST_PAUSE = 100;
const LONGEST_PAUSE = 5_000;
/**
 * The connection to a server that misses two pings is closed: the server is paused, or the network is cut.
 */
const PING_EVERY = 2_000;
const PINGS = 2;

/** Paths of PEM files. */
interface FleetTls {
  /** Of the authority that signed the server's certificate; else the system's authorities count. */
  readonly caFile?: string | undefined;
  /** The certificate of this node, if the server asks for one. */
  readonly certFile?: string | undefined;
  readonly keyFile?: string | undefined;
}

export interface FleetConnectionOptions {
  /** `nats://host:4222`, or several with commas between. */
  readonly url: string;
  /** It was typed on the command line, so it must have no password. */
  readonly isTyped?: boolean | undefined;
  readonly tls?: FleetTls | undefined;
  /** Path of a file: of nsc (`.creds`), with an nkey's seed, or with `USER:PASSWORD`. */
  readonly credentials?: string | undefined;
  readonly subjects: Subjects;
  /** The stable name of this node. */
  readonly name: string;
  /** How many servers of a cluster keep each message of a stream; only gateways may change that. */
  readonly replicas?: number | undefined;
}

/** The connection of this process to NATS. It reconnects for ever; disposing closes it. */
export class FleetConnection implements AsyncDisposable {
  readonly nats: NatsConnection;
  readonly subjects: Subjects;
  /** The stable name of this node. */
  readonly name: string;
  /** How many servers of a cluster keep each message of a stream; undefined leaves that unchanged. */
  readonly replicas: number | undefined;
  readonly #listeners = new Set<() => void>();
  /** Aborted when the connection is lost; the next connection has another one. */
  #lost = new AbortController();
  /** Resolves with the next connection, or at the end. */
  #back = Promise.withResolvers<void>();
  readonly #looking: NodeJS.Timeout;
  #vain = 0;
  /** Bytes of one message that the server accepts. */
  maxPayload: number;

  private constructor(nats: NatsConnection, options: FleetConnectionOptions) {
    const { subjects, name, replicas } = options;
    this.replicas = replicas;
    this.nats = nats;
    this.subjects = subjects;
    this.name = name;
    this.maxPayload = nats.info?.max_payload ?? 0;
    background(this.#watch(), "Watching the connection to NATS");
    const look = (): void => background(this.#leaveMinority(), "Looking for a majority of NATS");
    this.#looking = setInterval(look, LOOK_EVERY).unref();
  }

  /** Rejects with a message for people if the first attempt fails. */
  static async open(options: FleetConnectionOptions): Promise<FleetConnection> {
    const urls = readServerUrls(options.url, options.isTyped);
    const where = urls.servers.join(", ");
    const nats = await connect(natsOptions(options, urls)).catch((error: unknown) => {
      throw connectionError(where, error);
    });
    try {
      await requireJetStream(nats, where);
      return new FleetConnection(nats, options);
    } catch (error) {
      await nats.close();
      throw error;
    }
  }

  get isConnected(): boolean {
    return !this.#lost.signal.aborted && !this.nats.isClosed();
  }

  /** Why NATS stores nothing now, in words; undefined if it does. */
  async problem(): Promise<string | undefined> {
    if (!this.isConnected) return "the connection to NATS is lost";
    const problem = await jetStreamProblem(this.nats, ANSWER_TIMEOUT).catch(String);
    return problem && "the servers of NATS have no majority, or no JetStream";
  }

  /** Calls back whenever the connection was lost or made again. Returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls back for each message of a subject. If the callback throws, only that message is lost: the library
   * would close the connection. `refused` is called if the server does not let this node listen.
   */
  listen(
    subject: string,
    heard: (message: Msg) => void,
    refused: (error: Error) => void = () => {},
  ): Subscription {
    return this.nats.subscribe(subject, {
      callback: (error, message) => {
        try {
          if (error === null) heard(message);
          else refused(error);
        } catch (failure) {
          background(failing(failure), `Reading a message of ${subject}`);
        }
      },
    });
  }

  /** Resolves when it is connected, or closed for good. */
  async connected(signal?: AbortSignal): Promise<void> {
    while (!this.isConnected && !this.nats.isClosed()) {
      await untilAborted(this.#back.promise, signal);
    }
  }

  /**
   * Runs a request to NATS. Throws "unavailable" while there is no connection, because the library would keep
   * each attempt in memory, and also as soon as the connection is lost, since no answer comes then.
   */
  async ask<T>(question: () => Promise<T>): Promise<T> {
    if (!this.isConnected) throw notConnected();
    return await untilAborted(question(), this.#lost.signal);
  }

  /** Waits before an attempt is repeated, at most until the connection is there again. */
  readonly pause = async (attempt: number): Promise<void> => {
    if (this.nats.isClosed()) return;
    const wait = Math.min(FIRST_PAUSE * 2 ** (attempt - 1), LONGEST_PAUSE);
    await atMost(wait, this.#back.promise);
  };

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#looking);
    if (this.isConnected) {
      // The last messages, such as the last heartbeat, must arrive.
      const flushed = this.nats.flush().catch(() => {});
      await atMost(FLUSH_TIMEOUT, flushed);
    }
    await this.nats.close();
    this.#listeners.clear();
  }

  /** Leaves a server that is cut off from the other ones of its cluster: they may have the majority. */
  async #leaveMinority(): Promise<void> {
    const { nats } = this;
    if (!this.isConnected || nats.info?.cluster === undefined) return;
    const problem = await jetStreamProblem(nats, ANSWER_TIMEOUT).catch(() => undefined);
    this.#vain = problem?.err_code === NO_MAJORITY ? this.#vain + 1 : 0;
    if (this.#vain < MOST_VAIN || !this.isConnected) return;
    this.#vain = 0;
    await nats.reconnect();
  }

  async #watch(): Promise<void> {
    for await (const { type } of this.nats.status()) {
      if (type === "reconnect") this.#lost = new AbortController();
      else if (type !== "disconnect" && type !== "close") continue;
      else this.#lost.abort(new Error("the connection was lost"));
      this.maxPayload = this.nats.info?.max_payload ?? this.maxPayload;
      if (type !== "disconnect") {
        this.#back.resolve();
        this.#back = Promise.withResolvers();
      }
      for (const listener of this.#listeners) listener();
    }
  }
}

function notConnected(): TrunklineError {
  const next = "Trunkline connects again as soon as NATS can be reached";
  return new TrunklineError("unavailable", `There is no connection to NATS. ${next}.`);
}

async function failing(failure: unknown): Promise<never> {
  throw failure;
}

function natsOptions(
  { tls, credentials, subjects, name }: FleetConnectionOptions,
  { servers, isTls, user, password }: ServerUrls,
): Parameters<typeof connect>[0] {
  return {
    servers: [...servers],
    name,
    inboxPrefix: subjects.inbox(name),
    timeout: CONNECT_TIMEOUT,
    pingInterval: PING_EVERY,
    maxPingOut: PINGS,
    maxReconnectAttempts: -1,
    // Recording a stack for each request costs more than the request.
    noAsyncTraces: true,
    // New credentials may be on their way.
    ignoreAuthErrorAbort: true,
    reconnectDelayHandler: () => RECONNECT_WAIT + Math.random() * RECONNECT_JITTER,
    ...((isTls || tls !== undefined) && { tls: tlsOptions(tls ?? {}, servers) }),
    ...(user !== undefined && { authenticator: userAndPassword(user, password ?? "") }),
    ...(credentials !== undefined && { authenticator: credentialsFrom(credentials) }),
  };
}

function tlsOptions({ caFile, certFile, keyFile }: FleetTls, servers: readonly string[]): object {
  const hosts = servers.map((server) => server.replace(/:\d+$/, "").replace(/^\[|\]$/g, ""));
  return {
    ...(caFile !== undefined && { caFile }),
    ...(certFile !== undefined && { certFile }),
    ...(keyFile !== undefined && { keyFile }),
    ...(hosts.some((host) => isIP(host) !== 0) && {
      checkServerIdentity: (name: string, peer: PeerCertificate) => misfit(name, peer, hosts),
    }),
  };
}

/**
 * Why a certificate is not valid for a server. The library names no server whose address is an IP, and Node
 * says `localhost` then, so any of our addresses is accepted.
 */
function misfit(name: string, peer: PeerCertificate, hosts: readonly string[]): Error | undefined {
  const meant = hosts.filter((host) => isIP(host) !== 0 || host === name);
  const names = name === "localhost" ? meant : [name];
  const problems = names.map((each) => checkServerIdentity(each, peer));
  return problems.includes(undefined) ? undefined : problems[0];
}

/** NATS, "JSClusterNotAvailErr": its servers have no majority, or have not yet elected who answers. */
const NO_MAJORITY = 10_008;
/** The codes of a server that is starting: JetStream is not enabled, or not for the account. */
const NOT_ENABLED: readonly unknown[] = [10_039, 10_076];

/** Why JetStream cannot be used now, with the code of NATS; undefined if it can. */
async function jetStreamProblem(
  nats: NatsConnection,
  timeout: number,
): Promise<{ readonly err_code?: number; readonly description?: string } | undefined> {
  try {
    const answer = await nats.request("$JS.API.INFO", "", { timeout });
    return answer.json<{ error?: { err_code?: number; description?: string } }>().error;
  } catch (error) {
    // Servers that have no leader yet, or are beginning, answer nothing.
    const isSilent = error instanceof errors.TimeoutError;
    if (isSilent) return { err_code: NO_MAJORITY, description: "no answer of JetStream" };
    if (!isNobody(error)) throw error;
    return { err_code: NOT_ENABLED[0] as number };
  }
}

/** Whether nobody took a question. */
export function isNobody(error: unknown): boolean {
  return error instanceof errors.RequestError && error.isNoResponders();
}

async function requireJetStream(nats: NatsConnection, where: string): Promise<void> {
  const end = performance.now() + ELECTION_TIMEOUT;
  for (;;) {
    const left = end - performance.now();
    // What was asked of a leader that was lost is never answered, so nobody waits for one answer only.
    const timeout = Math.max(Math.min(left, ANSWER_TIMEOUT), MAJORITY_POLL);
    const problem = await jetStreamProblem(nats, timeout).catch((error) => {
      throw connectionError(where, error);
    });
    if (problem === undefined) return;
    const { err_code: code, description } = problem;
    const mayBegin = NOT_ENABLED.includes(code) && nats.info?.jetstream === true;
    if (code !== NO_MAJORITY && !mayBegin) break;
    if (performance.now() > end) {
      if (mayBegin) break;
      const says = `The servers of NATS at ${where} have no majority: ${description}. Start`;
      throw new TrunklineError("unavailable", `${says} those that are missing, and try again.`);
    }
    await sleep(MAJORITY_POLL);
  }
  throw new TrunklineError(
    "unavailable",
    `NATS at ${where} has no JetStream. Start it with \`nats-server -js\`, or add \`jetstream {}\` ` +
      "to its configuration; if it has accounts, also to the account of this node.",
  );
}

/** Codes of OpenSSL and Node for certificates that do not fit. */
const CERTIFICATE = /CERT|ISSUER|SIGN|ALTNAME|SSL|TLS/;

function connectionError(where: string, error: unknown): TrunklineError {
  const [message, next] = whyNot(error);
  const says = `Cannot connect to NATS at ${where}: ${message}. ${next}`;
  return new TrunklineError("unavailable", says, { cause: error });
}

function whyNot(error: unknown): [message: string, next: string] {
  const message = error instanceof Error ? error.message : String(error);
  const { code } = error as NodeJS.ErrnoException;
  if (error instanceof errors.AuthorizationError) {
    return [
      "it refused the credentials",
      "Name a file with valid ones in `fleet.credentials` of the configuration.",
    ];
  }
  if (error instanceof errors.PermissionViolationError) {
    return [
      message,
      "Give the user of this node the permissions that `trunkline worker credentials` prints.",
    ];
  }
  if (CERTIFICATE.test(code ?? "") || message.includes("tls")) {
    return [
      message,
      "Name the authority of its certificate in `fleet.tls.caFile`, and, if it asks for one, " +
        "the certificate of this node in `fleet.tls.certFile` and `fleet.tls.keyFile`.",
    ];
  }
  if (error instanceof errors.TimeoutError) {
    // Also a server that misses our certificate closes the connection without a word.
    return [
      `no answer in ${CONNECT_TIMEOUT / 1000} seconds`,
      "Check the address, whether nats-server runs there, and, if it asks for a certificate of this " +
        "node, `fleet.tls.certFile`.",
    ];
  }
  // The message of NATS's library if the other side closes the connection without an error.
  const isClosed = message.includes("node provided an undefined error");
  const words = isClosed ? "the connection was closed before NATS said anything" : message;
  return [words, "Check the address, and whether nats-server runs there."];
}
