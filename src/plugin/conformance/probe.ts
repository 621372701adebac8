import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { answerOf } from "../../protocol/bus/answer.ts";
import { bodyOf, decodeResponse, encodeRequest } from "../../protocol/bus/codec.ts";
import type { BusRequest } from "../../protocol/bus/connect.ts";
import { readResponses } from "../../protocol/bus/frame-stream.ts";
import type { PluginManifest, PluginResponse } from "../../protocol/bus/plugin.gen.ts";
import { encodeFrame, MAX_FRAME, PREFIX } from "../../wire/framing/length-prefixed.ts";
import { ConnectionError } from "../../wire/quic/connection-error.ts";
import type { BidiStream, Connection } from "../../wire/quic/connection.ts";

/** A call that the rules may repeat at will. */
export interface SafeCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Clients that must be refused. */
export type InvalidClient = "another protocol" | "another authority" | "no certificate";

/** The program that is checked. */
export interface Subject {
  readonly role: Role;
  /** Its name in messages, such as `The plugin at 127.0.0.1:9100`. */
  readonly name: string;
  readonly dial: () => Promise<Connection>;
  /** How an orchestrator is dialled by a plugin; the id is that in its certificate. */
  readonly asPlugin?: { readonly id: string; readonly dial: () => Promise<Connection> };
  /** Left out where there is no network. */
  readonly dialAs?: (stranger: InvalidClient) => Promise<Connection>;
  /** A tool that may be called, if one was named. */
  readonly call?: SafeCall | undefined;
  /** A tool that answers in pieces, if one was named. */
  readonly stream?: SafeCall | undefined;
  /** Set if it was started by its command. */
  readonly started?: StartedSubject;
}

export interface StartedSubject {
  /** The output of `--manifest`. */
  readonly printed: () => Promise<string>;
  /** What it registers with; resolves when it does. */
  readonly registered: Promise<PluginManifest>;
  /** Resolves when it has ended, with how. */
  readonly exit: Promise<number | string>;
}

/** The reaction to bytes that are no valid request. */
export type Reaction =
  | { readonly kind: "answered"; readonly response: PluginResponse }
  | { readonly kind: "refused"; readonly why: string };

/** The number of a field, or of a kind of request, that no schema has. */
export const UNKNOWN = 900;

const MOST_BYTES = MAX_FRAME + PREFIX;

/** Sends the requests of one rule, on a connection of its own. */
export class Probe implements AsyncDisposable {
  readonly subject: Subject;
  #connection: Promise<Connection> | undefined;
  #lastId = 0;

  constructor(subject: Subject) {
    this.subject = subject;
  }

  connection(): Promise<Connection> {
    this.#connection ??= this.subject.dial();
    return this.#connection;
  }

  async open(): Promise<BidiStream> {
    return (await this.connection()).openStream();
  }

  nextId(): string {
    return `conformance-${++this.#lastId}-${crypto.randomUUID()}`;
  }

  /** Asks, and reads the answer as the protocol has it: one frame, and the id of the request. */
  async ask(request: BusRequest): Promise<PluginResponse> {
    const requestId = this.nextId();
    const stream = await this.open();
    await stream.end(encodeRequest({ requestId, request }));
    const response = decodeResponse(bodyOf(await stream.readAll(MOST_BYTES)));
    const { requestId: answered } = response;
    demand(
      answered === requestId,
      `the answer to '${request.case}' has the request_id '${answered}', not '${requestId}'`,
    );
    return response;
  }

  /** Asks with bytes of a field that no schema has, and that is passed over. */
  async askWith(request: BusRequest, bytes: Uint8Array): Promise<PluginResponse> {
    const known = bodyOf(encodeRequest({ requestId: this.nextId(), request }));
    const field = new BinaryWriter().tag(UNKNOWN, WireType.LengthDelimited).bytes(bytes).finish();
    const reaction = await this.send(encodeFrame(Buffer.concat([known, field])));
    if (reaction.kind === "answered") return reaction.response;
    throw new Error(`it did not answer: ${reaction.why}`);
  }

  /** Asks for what comes in pieces. */
  async *askForMany(request: BusRequest): AsyncGenerator<PluginResponse, void, void> {
    const stream = await this.open();
    await stream.end(encodeRequest({ requestId: this.nextId(), request }));
    yield* readResponses(stream);
  }

  /** Sends bytes that need not be a request. */
  async send(bytes: Uint8Array): Promise<Reaction> {
    const stream = await this.open();
    try {
      await stream.end(bytes);
      const answer = await stream.readAll(MOST_BYTES);
      if (answer.length === 0) return { kind: "refused", why: "it ended the stream" };
      return { kind: "answered", response: decodeResponse(bodyOf(answer)) };
    } catch (error) {
      // The other side may reset the stream.
      if (!(error instanceof ConnectionError) || error.trouble !== "reset") throw error;
      return { kind: "refused", why: error.message };
    }
  }

  /** Throws if it no longer answers on the same connection. */
  async stillAnswers(after: string): Promise<void> {
    try {
      await this.ask({ case: "listTools", value: {} });
    } catch (error) {
      throw new Error(`after ${after} it no longer answers: ${(error as Error).message}`, {
        cause: error,
      });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await (await this.#connection?.catch(() => undefined))?.close();
  }
}

/** The answer of the expected kind. Throws if it is a failure, with the failure's message. */
export function answered<K extends NonNullable<PluginResponse["response"]["case"]>>(
  response: PluginResponse,
  kind: K,
) {
  return answerOf("it", response, kind);
}

/** An answer in words. */
export function said({ response }: Pick<PluginResponse, "response">): string {
  if (response.case === undefined) return "an empty answer";
  if (response.case !== "toolCall" || response.value.success) return `'${response.case}'`;
  const { errorCode, errorMessage } = response.value;
  return `the failure ${errorCode || "without a code"}: ${errorMessage || "no message"}`;
}

export type Role = "plugin" | "orchestrator";

/** One thing that every program on the bus has to do. */
export interface Rule {
  readonly id: string;
  /** The section of the protocol that it is from, as in `test/requirements/bus.ts`. */
  readonly section: string;
  /** What has to hold. */
  readonly says: string;
  /** The role that it applies to; both if left out. */
  readonly role?: Role;
  /** Throws if the rule is broken, or could not be checked (`skip`). */
  readonly check: (probe: Probe) => Promise<unknown>;
}

/** Rules by their ids. */
export type Rules = Readonly<Record<string, Omit<Rule, "id">>>;

/** A rule that could not be checked, and why. */
export class SkippedRuleError extends Error {
  override readonly name = "SkippedRuleError";
}

export function skip(why: string): never {
  throw new SkippedRuleError(why);
}

/** Throws what was found instead, unless the condition holds. */
export function demand(holds: boolean, found: string): asserts holds {
  if (!holds) throw new Error(found);
}
