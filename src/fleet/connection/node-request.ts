import { randomUUID } from "node:crypto";

import { errors, type Msg, type Subscription } from "@nats-io/transport-node";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { FleetConnection } from "./connect.ts";

/** Milliseconds. A stopped process (SIGSTOP) answers nothing. */
const REQUEST_TIMEOUT = 2_000;

/** Where a node is reached. */
export interface NodeAddress {
  /** Of the process: its id as a holder of sessions. */
  readonly id: string;
  /** The stable name: letters, digits, `-` and `_`. The permissions of the node in NATS go by it. */
  readonly name: string;
}

interface Answer {
  readonly ok?: unknown;
  /** Why not, in words. */
  readonly refused?: unknown;
}

/** What a node is asked to find out whether it is there. */
export const THERE = "there";

const NAME = /^[\w-]{1,64}$/;
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
export function requireConnection({ isConnected }: FleetConnection, node: NodeAddress): void {
  if (!isConnected) throw cannotReach(node, "there is no connection to NATS");
}

/** Asks a node for something. Rejects with "unavailable" if it does not answer or refuses. */
export async function askNode(
  connection: FleetConnection,
  node: NodeAddress,
  what: string,
  question: unknown,
): Promise<unknown> {
  requireConnection(connection, node);
  const subject = connection.subjects.request(addressOf(node), what);
  let message: Msg;
  try {
    // The library's own subjects for answers follow from each other, and the node that is asked sees this
    // one: it could have JetStream send forged answers to the next ones.
    const reply = `${connection.subjects.inbox(connection.name)}.${randomUUID()}`;
    const options = { timeout: REQUEST_TIMEOUT, noMux: true, reply };
    message = await connection.nats.request(subject, JSON.stringify(question), options);
  } catch (error) {
    throw cannotReach(node, whyNot(error), error);
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

/** Answers the questions of other nodes. An error is told to whoever asked. */
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

function whyNot(error: unknown): string {
  if (error instanceof errors.TimeoutError) return `no answer in ${REQUEST_TIMEOUT / 1000} seconds`;
  if (isNobody(error)) return "it is not there";
  return error instanceof Error ? error.message : String(error);
}

function isNobody(error: unknown): boolean {
  return error instanceof errors.RequestError && error.isNoResponders();
}

function cannotReach({ name }: NodeAddress, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("unavailable", `Cannot reach node '${name}': ${why}.`, { cause });
}
