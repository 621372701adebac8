import type { ChildProcessWithoutNullStreams } from "node:child_process";
import { readFileSync } from "node:fs";
import { Writable } from "node:stream";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import { WebSocket } from "ws";

import type { Json } from "../support/acp-app.ts";
import { Packages } from "../support/packages.ts";

/** The official SDK, which our agent's side is tried with. */
export const packages = new Packages("test/acp");
const SDK = ["@agentclientprotocol", "sdk"] as const;

export interface Stream {
  readonly readable: ReadableStream;
  readonly writable: WritableStream;
}

type StandardStreams = Pick<ChildProcessWithoutNullStreams, "stdin" | "stdout">;

export interface Context {
  request(method: string, params: object): Promise<Json>;
  notify(method: string, params: object): Promise<void>;
}

interface ClientApp {
  onRequest(
    method: string,
    handle: (context: { params: Json; signal: AbortSignal }) => unknown,
  ): ClientApp;
  onNotification(method: string, handle: (context: { params: Json }) => unknown): ClientApp;
  connectWith<T>(stream: Stream, work: (context: Context) => Promise<T>): Promise<T>;
}

export interface Sdk {
  client(options: { name: string }): ClientApp;
  readonly ndJsonStream: (
    out: WritableStream<Uint8Array>,
    input: ReadableStream<Uint8Array>,
  ) => Stream;
}

export async function loadSdk(): Promise<Sdk> {
  await packages.install();
  return packages.import<Sdk>(...SDK, "dist/v1/unstable/acp.js");
}

/** The draft of version 2. */
export async function loadSdkV2(): Promise<Sdk> {
  await packages.install();
  return packages.import<Sdk>(...SDK, "dist/v2/unstable/acp.js");
}

/** The standard streams of a program that speaks ACP. */
export async function stdioStream({ stdin, stdout }: StandardStreams): Promise<Stream> {
  const { ndJsonStream } = await loadSdk();
  const out = Writable.toWeb(stdin) as WritableStream<Uint8Array>;
  const input = new ReadableStream<Uint8Array>({
    start: (controller) =>
      void stdout.on("data", (text: string) => controller.enqueue(Buffer.from(text))),
  });
  return ndJsonStream(out, input);
}

/** What a gateway says of itself, and what its owner sends with every request. */
export interface AcpAddress {
  readonly acp: string;
  readonly headers: Readonly<Record<string, string>>;
}

export async function webSocketStream({ acp, headers }: AcpAddress): Promise<Stream> {
  const { createWebSocketStream } = await packages.import<{
    createWebSocketStream: (url: string, options: object) => Stream;
  }>(...SDK, "dist/transports/ws-stream.js");
  return createWebSocketStream(acp, { headers, WebSocket });
}

export async function httpStream({ acp, headers }: AcpAddress): Promise<Stream> {
  const { createHttpStream } = await packages.import<{
    createHttpStream: (url: string, options: object) => Stream;
  }>(...SDK, "dist/transports/http-stream.js");
  return createHttpStream(acp.replace("ws", "http"), { headers });
}

interface Message {
  readonly id?: string | number;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

/** Looks at every message that the agent sends, against the official JSON schemas. */
export class Oracle {
  readonly problems: string[] = [];
  /** How many messages of each kind were looked at. */
  readonly seen = new Map<string, number>();
  readonly #version: 1 | 2;
  #checks: Checks;
  readonly #asked = new Map<string | number, string>();

  /** Stable, and where that knows nothing of a method the unstable one. */
  static async load(version: 1 | 2 = 1): Promise<Oracle> {
    await packages.install();
    return Oracle.of(version);
  }

  /** The same, where the packages are installed. */
  static of(version: 1 | 2): Oracle {
    return new Oracle(version);
  }

  private constructor(version: 1 | 2) {
    this.#version = version;
    this.#checks = checksOf(version);
  }

  /** The same stream, with every message seen on its way. */
  watch({ readable, writable }: Stream): Stream {
    const out = new TransformStream<Message, Message>({
      transform: (message, controller) => {
        this.sent(message);
        controller.enqueue(message);
      },
    });
    void out.readable.pipeTo(writable).catch(() => {});
    const seen = new TransformStream<Message, Message>({
      transform: (message, controller) => {
        this.received(message);
        controller.enqueue(message);
      },
    });
    return { readable: readable.pipeThrough(seen), writable: out.writable };
  }

  /** Takes note of what a client asks, since answers do not say what they are to. */
  sent({ id, method, params }: Message): void {
    const { clientCapabilities } = (params ?? {}) as { clientCapabilities?: object };
    // Only clients that announce what is unstable may be sent it.
    const isUnstable = UNSTABLE.some((name) => name in (clientCapabilities ?? {}));
    if (isUnstable) this.#checks = checksOf(this.#version, [...FILES].toReversed());
    if (method !== undefined && id !== undefined) this.#asked.set(id, method);
  }

  /** Looks at what the agent sends. */
  received({ id, method, params, result, error }: Message): void {
    // ACP extensibility: methods of extensions begin with an underscore, and are in no schema.
    if (error !== undefined || method?.startsWith("_") === true) return;
    const isCall = method !== undefined;
    const kind = isCall ? `call ${method}` : `answer ${this.#asked.get(id ?? "")}`;
    this.seen.set(kind, (this.seen.get(kind) ?? 0) + 1);
    const check = this.#checks.get(kind)?.();
    if (check === undefined) {
      if (kind !== "answer session/set_model") this.problems.push(`${kind} is in no schema`);
      return;
    }
    if (check(isCall ? params : result)) return;
    const what = JSON.stringify(isCall ? params : result);
    this.problems.push(`${kind}: ${JSON.stringify(check.errors?.slice(0, 3))} in ${what}`);
  }
}

type Checks = ReadonlyMap<string, () => ValidateFunction | undefined>;

const KNOWN = new Map<string, Checks>();
const FILES = ["schema.json", "schema.unstable.json"];
/** Capabilities of clients that only the unstable schema has. */
const UNSTABLE = ["subagents", "plan"];

/** Checks that are compiled in a third of the time. Each process uses them only for a few messages. */
export const QUICK = { validateSchema: false, code: { optimize: false } } as const;

/** What each kind of message has to be, compiled when the first comes: the schemas are large. */
function checksOf(version: number, files = FILES): Checks {
  const key = `${version} ${files.join(" ")}`;
  const known = KNOWN.get(key);
  if (known !== undefined) return known;
  const checks = new Map<string, () => ValidateFunction | undefined>();
  for (const file of files) {
    const path = packages.path(...SDK, `schema/v${version}`, file);
    const schema = JSON.parse(readFileSync(path, "utf8")) as {
      $defs: Record<string, { "x-method"?: string }>;
    };
    const ajv = new Ajv2020({ ...QUICK, strict: false, validateFormats: false });
    // Without what is true of any message, which would be compiled with the first of them.
    ajv.addSchema({ $id: file, $defs: schema.$defs });
    for (const [name, { "x-method": method }] of Object.entries(schema.$defs)) {
      if (method === undefined) continue;
      const kind = `${name.endsWith("Response") ? "answer" : "call"} ${method}`;
      if (!checks.has(kind)) checks.set(kind, () => ajv.getSchema(`${file}#/$defs/${name}`));
    }
  }
  KNOWN.set(key, checks);
  return checks;
}
