import { randomUUID } from "node:crypto";

import type { Subscription } from "@nats-io/transport-node";

import { background } from "../../base/background.ts";
import type { Principal } from "../../base/principal.ts";
import { untilAborted } from "../../base/until-aborted.ts";
import type { Channel } from "../../wire/channel.ts";
import {
  greet,
  mustNamePrincipal,
  type PrincipalGreeting,
  serveGreeted,
  type ServeGreetedOptions,
} from "../../wire/channel/greeting.ts";
import type { FleetConnection } from "./connect.ts";
import { NatsSocket } from "./nats-socket.ts";
import { answerNodes, askNode, type NodeAddress, requireConnection } from "./node-request.ts";

const NAME = /^[A-Za-z0-9_-]+$/;
const ID = /^[0-9a-f-]{36}$/;

/** A request to open a connection. */
interface Open {
  /** The name of the node that asks. */
  readonly from: string;
  readonly connection: string;
}

/** What is served on a connection: sessions, which only gateways may open, or tools. */
export type Service = "open" | "tools";

export interface NodeServerOptions extends Pick<
  ServeGreetedOptions<PrincipalGreeting>,
  "limits" | "log"
> {
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
export class NodeServer implements Disposable {
  readonly #options: NodeServerOptions;
  readonly #sockets = new Set<NatsSocket>();
  readonly #subscription: Subscription;

  constructor(options: NodeServerOptions) {
    const { connection, node, service = "open" } = options;
    this.#options = options;
    this.#subscription = answerNodes(connection, node, service, (open) =>
      this.#accept(open as Open),
    );
  }

  [Symbol.dispose](): void {
    this.#subscription.unsubscribe();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(open: Open): void {
    const { connection, node, refuse } = this.#options;
    const refusal = refuse?.();
    if (refusal !== undefined) throw new Error(refusal);
    const [incoming, outgoing] = subjectsOf(connection, node, open);
    const socket = new NatsSocket(connection, { incoming, outgoing });
    this.#sockets.add(socket);
    socket.on("close", () => this.#sockets.delete(socket));
    const { limits, log, serve } = this.#options;
    const served: ServeGreetedOptions<PrincipalGreeting> = {
      limits,
      log,
      welcome: mustNamePrincipal,
      serve: (channel, { principal }) => serve(channel, principal, open.from),
    };
    background(serveGreeted(socket, served), "Serving another node");
  }
}

export interface ReachOptions {
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
  const open: Open = { from: connection.name, connection: randomUUID() };
  const [outgoing, incoming] = subjectsOf(connection, node, open);
  const socket = new NatsSocket(connection, { incoming, outgoing });
  const end = (): void => {
    socket.destroy(gone?.reason as Error);
  };
  gone?.addEventListener("abort", end);
  socket.on("close", () => gone?.removeEventListener("abort", end));
  // Whoever reads from it hears of it.
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
  { from, connection }: Open,
): [toServer: string, toClient: string] {
  if (!NAME.test(from) || !ID.test(connection)) throw new Error("the request is not valid");
  const id = `${name}.${from}.${connection}`;
  return [subjects.connection(id, "server"), subjects.connection(id, "client")];
}
