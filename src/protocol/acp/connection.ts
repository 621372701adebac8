import type { Peer } from "../../rpc/peer.ts";
import type {
  AskOptions,
  ClientCapabilities,
  ClientMethod,
  SessionClient,
  Shown,
} from "../../session/client.ts";
import { ROOM, type Topic } from "../../wire/channel.ts";
import { clientMethod, type JsonObject } from "./methods.ts";
import type { InitializeParams } from "./schema.gen.ts";
import { fromWire } from "./session-errors.ts";

/** How a connection reaches its client past the peer, for what is already text. */
export type SendText = (text: string, sessionId: string) => Promise<void>;

const NONE: ClientCapabilities = {
  readTextFile: false,
  writeTextFile: false,
  terminal: false,
  elicitation: false,
  notices: false,
  compaction: false,
};

/** One client, from its connection to its end. */
export class AcpConnection implements SessionClient {
  #name = "client";
  #capabilities = NONE;
  #countsEvents = false;
  #isGone = false;
  #peer: Peer<AcpConnection> | undefined;
  #send: SendText = () => ROOM;

  get name(): string {
    return this.#name;
  }

  get capabilities(): ClientCapabilities {
    return this.#capabilities;
  }

  /** What carries it. */
  open(peer: Peer<AcpConnection>, send: SendText): void {
    this.#peer = peer;
    this.#send = send;
  }

  /** It is over: nothing reaches the client any more. */
  close(): void {
    this.#isGone = true;
    this.#send = () => ROOM;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** What the client says of itself. */
  introduce({ clientInfo, clientCapabilities = {}, _meta }: InitializeParams): void {
    this.#name = clientInfo?.name ?? "client";
    this.#capabilities = readCapabilities(clientCapabilities);
    this.countEvents(_meta);
    this.countEvents(clientCapabilities._meta);
  }

  /** Clients that ask for it learn the number of each event, to resume after one later. */
  countEvents(meta: unknown): void {
    if (ours(meta).sequence === true) this.#countsEvents = true;
  }

  show(sessionId: string, { seq, text }: Shown): Promise<void> | undefined {
    const meta = this.#countsEvents ? `,"_meta":{"trunkline":{"seq":${seq}}}` : "";
    const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"`;
    const room = this.#send(`${head}${sessionId}","update":${text}${meta}}}`, sessionId);
    return room === ROOM ? undefined : room;
  }

  lagged(sessionId: string, after: number): void {
    const _meta = { trunkline: { lagged: { after, next: "session/resume" } } };
    const update = { sessionUpdate: "session_info_update", _meta };
    void this.show(sessionId, {
      seq: after,
      kind: update.sessionUpdate,
      text: JSON.stringify(update),
    });
  }

  ask(method: ClientMethod, params: object, options: AskOptions): Promise<unknown> {
    const { stop, timeout } = options;
    if (this.#peer === undefined) return Promise.reject(new Error("The connection is not open"));
    const asked = this.#peer.request(clientMethod(method), params, {
      topic: topicOf(params),
      ...(stop === undefined ? {} : { stop }),
      ...(timeout === undefined ? {} : { timeout }),
    });
    return asked.catch((error: unknown) => {
      throw fromWire(error);
    });
  }
}

const TOPIC = "session ";

/** Which session a message belongs to, for channels that have a way of its own for each. */
function topicOf(params: object): Topic {
  const { sessionId } = params as { sessionId?: unknown };
  return { request: `${TOPIC}${String(sessionId)}`, isAnswer: false };
}

/** The same back. The id of a request, as JSON text, never looks like it. */
export function sessionOfTopic({ request }: Topic): string | undefined {
  return request.startsWith(TOPIC) ? request.slice(TOPIC.length) : undefined;
}

function readCapabilities(capabilities: JsonObject): ClientCapabilities {
  const fs = objectOf(capabilities.fs);
  const session = objectOf(capabilities.session);
  const elicitation = objectOf(capabilities.elicitation);
  return {
    readTextFile: fs.readTextFile === true,
    writeTextFile: fs.writeTextFile === true,
    terminal: capabilities.terminal === true,
    elicitation: isObject(elicitation.form) || isObject(elicitation.url),
    notices: isObject(session.notices),
    compaction: isObject(session.compaction),
  };
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function objectOf(value: unknown): JsonObject {
  return isObject(value) ? value : {};
}

/** What a message's `_meta` holds for us. */
export function ours(meta: unknown): JsonObject {
  return objectOf(objectOf(meta).trunkline);
}
