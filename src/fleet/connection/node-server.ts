import { randomUUID } from "node:crypto";
import { errors, type Msg, type Subscription } from "@nats-io/transport-node";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Principal } from "../../base/principal.ts";
import { untilAborted } from "../../base/abort.ts";
import type { Channel } from "../../wire/channel.ts";
import {
  greet,
  mustNamePrincipal,
  type PrincipalGreeting,
  serveGreeted,
  type ServeGreetedOptions,
} from "../../wire/channel/greeting.ts";
import { NODE_NAME } from "../subjects.ts";
import { type FleetConnection, isNobody } from "./connect.ts";
import { NatsSocket } from "./nats-socket.ts";

/** Milliseconds. A stopped process (SIGSTOP) answers nothing. */
const REQUEST_TIMEOUT = 2_000;

/** Where a node is reached. */
export interface NodeAddress {
  /** The id under which the process holds sessions. */
  readonly id: string;
  /** The stable name: letters, digits, `-` and `_`. The permissions of the node in NATS go by it. */
  readonly name: string;
}

interface Answer {
  readonly ok?: unknown;
  /** The reason for a refusal. */
  readonly refused?: unknown;
}

/** The request that checks whether a node is connected. */
export const THERE = "there";

const NAME = new RegExp(NODE_NAME);
const ID = /^[\w-]{1,80}$/;

/** Whether it may be the id of a process or a request: it becomes a part of subjects. */
export function isId(value: unknown): value is string {
  return typeof value === "string" && ID.test(value);
}

/** Whether a node can be reached under this address: it becomes a part of subjects. */
export function isAddress(value: unknown): value is NodeAddress {
  const { id, name } = (value ?? {}) as Partial<Record<keyof NodeAddress, unknown>>;
  return isId(id) && typeof name === "string" && NAME.test(name);
}

/** The part of the node's subjects that names it. */
export function addressOf({ id, name }: NodeAddress): string {
  return `${name}.${id}`;
}

/** Throws "unavailable" while there is no connection to NATS. */
function requireConnection({ isConnected }: FleetConnection, node: NodeAddress): void {
  if (!isConnected) throw cannotReach(node, "there is no connection to NATS");
}

/** Sends a request to a node. Rejects with "unavailable" if it does not answer or refuses. */
export async function askNode(
  connection: FleetConnection,
  node: NodeAddress,
  what: string,
  question: unknown,
  timeout = REQUEST_TIMEOUT,
): Promise<unknown> {
  requireConnection(connection, node);
  const subject = connection.subjects.request(addressOf(node), what);
  let message: Msg;
  try {
    // The library's own subjects for answers follow from each other, and the node that is asked sees this
    // one: it could have JetStream send forged answers to the next ones.
    const reply = `${connection.subjects.inbox(connection.name)}.${randomUUID()}`;
    const options = { timeout, noMux: true, reply };
    message = await connection.nats.request(subject, JSON.stringify(question), options);
  } catch (error) {
    throw cannotReach(node, whyNot(error, timeout), error);
  }
  const { ok, refused } = readAnswer(message);
  if (refused !== undefined) throw cannotReach(node, refused);
  return ok;
}

/**
 * Whether the node has a connection to NATS, also if it does not answer. Each node listens to requests
 * named `there`, and NATS tells at once where nobody does: the connection of a killed process is closed.
 */
export async function isThere(connection: FleetConnection, node: NodeAddress): Promise<boolean> {
  try {
    await askNode(connection, node, THERE, null);
    return true;
  } catch (error) {
    return !(error instanceof TrunklineError && isNobody(error.cause));
  }
}

/** Answers the requests of other nodes. Errors are sent to the node that asked. */
export function answerNodes(
  connection: FleetConnection,
  node: NodeAddress,
  what: string,
  answer: (question: unknown) => unknown,
): Subscription {
  const respond = async (message: Msg): Promise<void> => {
    let text: Answer;
    try {
      text = { ok: (await answer(message.json())) ?? null };
    } catch (error) {
      text = { refused: error instanceof Error ? error.message : String(error) };
    }
    if (connection.isConnected) message.respond(JSON.stringify(text));
  };
  // JetStream delivers what a worker stored to any subject, but names another one for the answer.
  const inbox = connection.subjects.inbox("");
  return connection.listen(connection.subjects.request(addressOf(node), what), (message) => {
    if (message.reply?.startsWith(inbox) !== true) return;
    background(respond(message), `Answering '${what}' of another node`);
  });
}

function readAnswer(message: Msg): { readonly ok?: unknown; readonly refused?: string } {
  try {
    const { ok, refused } = message.json<Answer>();
    if (refused === undefined) return { ok };
    return { refused: typeof refused === "string" ? refused : "it refused" };
  } catch {
    return { refused: "its answer cannot be read" };
  }
}

function whyNot(error: unknown, timeout: number): string {
  if (error instanceof errors.TimeoutError) return `no answer in ${timeout / 1000} seconds`;
  if (isNobody(error)) return "it is not there";
  return error instanceof Error ? error.message : String(error);
}

function cannotReach({ name }: NodeAddress, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("unavailable", `Cannot reach node '${name}': ${why}.`, { cause });
}

const CONNECTION_ID = /^[0-9a-f-]{36}$/;

/** A request to open a connection. */
interface OpenRequest {
  /** The name of the node that asks. */
  readonly from: string;
  readonly connection: string;
}

/** The service of a connection: sessions, which only gateways may open, or tools. */
type Service = "open" | "tools";

interface NodeServerOptions extends Pick<ServeGreetedOptions<PrincipalGreeting>, "limits" | "log"> {
  /** Serves a conversation until its channel ends. Only the node with this name can have it. */
  readonly serve: (channel: Channel<string>, principal: Principal, from: string) => Promise<void>;
  readonly connection: FleetConnection;
  readonly node: NodeAddress;
  readonly service?: Service;
  /** Why no new connection is accepted, in words; undefined if it is. */
  readonly refuse?: (() => string | undefined) | undefined;
}

/**
 * Serves the sessions that this node has open to the gateways of its pool. Only gateways may publish to
 * the subjects of a node (see `permissions.ts`), so the principal in the greeting is trusted.
 */
export function serveNode(options: NodeServerOptions): Disposable {
  const { connection, node, service = "open", refuse, limits, log, serve } = options;
  const sockets = new Set<NatsSocket>();
  const accept = (open: OpenRequest): void => {
    const refusal = refuse?.();
    if (refusal !== undefined) throw new Error(refusal);
    const [incoming, outgoing] = subjectsOf(connection, node, open);
    const socket = new NatsSocket(connection, { incoming, outgoing });
    sockets.add(socket);
    socket.on("close", () => sockets.delete(socket));
    const served: ServeGreetedOptions<PrincipalGreeting> = {
      limits,
      log,
      welcome: mustNamePrincipal,
      serve: (channel, { principal }) => serve(channel, principal, open.from),
    };
    background(serveGreeted(socket, served), "Serving another node");
  };
  const asked = answerNodes(connection, node, service, (open) => accept(open as OpenRequest));
  return {
    [Symbol.dispose]: () => {
      asked.unsubscribe();
      for (const socket of sockets) socket.destroy();
    },
  };
}

interface ReachOptions {
  readonly service?: Service;
  /** The stream ends when this is aborted. */
  readonly gone?: AbortSignal | undefined;
}

/** Opens a byte stream to a node. Rejects with "unavailable" if it cannot be reached or refuses. */
export async function openSocket(
  connection: FleetConnection,
  node: NodeAddress,
  { service = "open", gone }: ReachOptions = {},
): Promise<NatsSocket> {
  requireConnection(connection, node);
  const open: OpenRequest = { from: connection.name, connection: randomUUID() };
  const [outgoing, incoming] = subjectsOf(connection, node, open);
  const socket = new NatsSocket(connection, { incoming, outgoing });
  const end = (): void => {
    socket.destroy(gone?.reason as Error);
  };
  gone?.addEventListener("abort", end);
  socket.on("close", () => gone?.removeEventListener("abort", end));
  // The reader is told of errors.
  socket.on("error", () => {});
  try {
    await untilAborted(askNode(connection, node, service, open), gone);
    return socket;
  } catch (error) {
    socket.destroy();
    throw error;
  }
}

/** Connects to a node for a principal. Rejects with "unavailable" if it cannot be reached. */
export async function reachNode(
  connection: FleetConnection,
  node: NodeAddress,
  principal: Principal,
  options?: ReachOptions,
): Promise<Channel<string>> {
  return greet(await openSocket(connection, node, options), { principal }).channel;
}

/** The names of both nodes are in them, so that the permissions of each in NATS can be limited to its own. */
function subjectsOf(
  { subjects }: FleetConnection,
  { name }: NodeAddress,
  { from, connection }: OpenRequest,
): [toServer: string, toClient: string] {
  if (!NAME.test(from) || !CONNECTION_ID.test(connection))
    throw new Error("the request is not valid");
  const id = `${name}.${from}.${connection}`;
  return [subjects.connection(id, "server"), subjects.connection(id, "client")];
}
