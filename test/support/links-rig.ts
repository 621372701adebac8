import { background } from "../../src/base/background.ts";
import { TrunklineError } from "../../src/base/errors.ts";
import { OWNER } from "../../src/base/principal.ts";
import { type LinkedClient, SessionLinks } from "../../src/protocol/acp/relay/session-links.ts";
import { SessionError } from "../../src/session/session-error.ts";
import type { EndOfTurn } from "../../src/session/turn/end-of-prompt.ts";
import type { Channel, Sink } from "../../src/wire/channel.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import type { Json } from "./acp-app.ts";
import { RecordingSink } from "./recording-sink.ts";
import { ScriptedHolder } from "./scripted-holder.ts";

/** Milliseconds between two looks whether a process still answers. */
export const BEAT = 20;

/** A client, and its connection to this process. */
export class LinksRig implements AsyncDisposable {
  /** The messages to the client. */
  readonly client = new RecordingSink();
  /** The messages that this process serves. */
  readonly here = new RecordingSink();
  readonly taken: { readonly sessionId: string; readonly after: number }[] = [];
  /** The processes that were deposed because they did not answer. */
  readonly deposed: string[] = [];
  /** Why a process cannot be deposed. */
  undeposable: Error | undefined;
  readonly links: SessionLinks;
  readonly #write: Channel<string>;
  /** The processes that are known to be stopped. */
  readonly stopped = new Set<string>();
  readonly holders = new Map<string, ScriptedHolder>();
  end: EndOfTurn | undefined;
  /** How a turn ended cannot be read. */
  endFails = false;
  /** The process that already has the session open when this one wants to take it over. */
  holder: string | undefined;
  countsEvents = false;
  /** Resolves when this process can open the session. */
  opening = async (): Promise<void> => {};
  #sink: Sink<string> | undefined;

  constructor() {
    const [client, server] = memoryPair();
    this.#write = client;
    client.receive(this.client);
    const linked: LinkedClient = {
      principal: OWNER,
      introduction: { protocolVersion: 1, _meta: { other: 1 } },
      origin: "o1",
      countsEvents: false,
    };
    const counts = () => this.countsEvents;
    Object.defineProperty(linked, "countsEvents", { get: counts });
    this.links = new SessionLinks({
      reach: async (holder) => {
        const found = this.holders.get(holder);
        if (found === undefined) throw new TrunklineError("unavailable", "Nobody is there.");
        return found.joining;
      },
      beat: BEAT,
      isStopped: async (holder) => this.stopped.has(holder),
      client: linked,
      takeOver: async ({ sessionId }, after) => {
        await this.opening();
        if (this.holder !== undefined) throw heldBy(this.holder);
        this.taken.push({ sessionId, after });
      },
      depose: async (_, holder) => {
        if (this.undeposable !== undefined) throw this.undeposable;
        this.deposed.push(holder);
        if (this.holder === holder) this.holder = undefined;
      },
      endOf: async () => {
        if (this.endFails) throw new TrunklineError("unavailable", "NATS does not answer.");
        return this.end;
      },
      send: (text) => server.send(text),
    });
    const receive = server.receive.bind(server);
    server.receive = (sink) => receive((this.#sink = sink));
    this.links.through(server).receive(this.here);
  }

  holding(name: string, answers?: Readonly<Record<string, unknown>>): ScriptedHolder {
    const process = new ScriptedHolder(answers);
    this.holders.set(name, process);
    return process;
  }

  async join(holder: string): Promise<unknown> {
    const params = { sessionId: "s1", cwd: "/w", mcpServers: [] };
    return await this.links.request(holder, "session/load", params);
  }

  say(message: object): void {
    background(this.#write.send(JSON.stringify({ jsonrpc: "2.0", ...message })), "Saying");
  }

  /** Delivers a message at once; returns what the channel is asked to wait for. */
  take(message: object): unknown {
    return this.#sink?.message(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  /** Waits for a matching message to the client. */
  async sent(matches: (message: Json) => boolean): Promise<Json> {
    const isIt = (text: string): boolean => matches(JSON.parse(text));
    await this.client.until(({ messages }) => messages.some(isIt));
    return JSON.parse(this.client.messages.find(isIt) ?? "");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.links.close();
    await this.#write[Symbol.asyncDispose]();
  }
}

function heldBy(holder: string): SessionError {
  const cause = Object.assign(new TrunklineError("conflict", "held"), { holder });
  return new SessionError("session-locked", "held", {}, { cause });
}
