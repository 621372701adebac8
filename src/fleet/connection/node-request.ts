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

type Answer = { readonly ok: unknown } | { readonly refused: string };

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
    const options = { timeout: REQUEST_TIMEOUT };
    message = await connection.nats.request(subject, JSON.stringify(question), options);
  } catch (error) {
    throw cannotReach(node, whyNot(error), error);
  }
  const answer = message.json<Answer>();
  if ("refused" in answer) throw cannotReach(node, answer.refused);
  return answer.ok;
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
  // A worker can make JetStream deliver what it stored to any subject, but then the answer goes elsewhere.
  const inbox = connection.subjects.inbox("");
  return connection.nats.subscribe(connection.subjects.request(addressOf(node), what), {
    callback: (error, message) => {
      if (error !== null || message.reply?.startsWith(inbox) !== true) return;
      background(respond(message), `Answering '${what}' of another node`);
    },
  });
}

function whyNot(error: unknown): string {
  if (error instanceof errors.TimeoutError) return `no answer in ${REQUEST_TIMEOUT / 1000} seconds`;
  if (error instanceof errors.RequestError && error.isNoResponders()) return "it is not there";
  return error instanceof Error ? error.message : String(error);
}

function cannotReach({ name }: NodeAddress, why: string, cause?: unknown): TrunklineError {
  return new TrunklineError("unavailable", `Cannot reach node '${name}': ${why}.`, { cause });
}
