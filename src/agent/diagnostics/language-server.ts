import { pathToFileURL } from "node:url";

import { untilAborted } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { FULL_READ } from "../../base/event-loop.ts";
import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";
import { type ChildOptions, OwnedChild } from "../../base/process/child-process.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { TOO_MUCH, tryParse } from "../../rpc/message/message.ts";
import type { Confinement } from "../files/command-sandbox.ts";

/** A problem that a language server found in a file. */
export interface Diagnostic {
  /** From 1. */
  readonly line: number;
  readonly column: number;
  readonly message: string;
  readonly code: string;
}

type Json = Readonly<Record<string, unknown>>;

/** Bytes of one message, and of what a server has not read yet; one that goes beyond them is ended. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Bytes before the body of a message. */
const LONGEST_HEAD = 8 * 1024;
/** Milliseconds without another report after which a server that reports by itself is done. */
const QUIET = 300;

/**
 * A language server, as far as it tells the errors of a file: framing and a few messages of the Language
 * Server Protocol 3.17. What it says is not trusted.
 */
export class LanguageServer implements AsyncDisposable {
  readonly #child: OwnedChild;
  /** Resolves when it has ended, and its confinement after it. */
  readonly #closed: Promise<void>;
  readonly #pending = new Map<number, PromiseWithResolvers<Json>>();
  readonly #versions = new Map<string, number>();
  readonly #published = new Map<string, readonly Diagnostic[]>();
  #heard = Promise.withResolvers<void>();
  #input: Buffer[] = [];
  #length = 0;
  /** Bytes without which no message is whole. */
  #needed = 0;
  /** What it said was no message, or too much. */
  #isRefused = false;
  #lastId = 0;
  #pulls = false;
  readonly #isUnnumbered: boolean;

  private constructor(child: OwnedChild, confinement: AsyncDisposable, isUnnumbered: boolean) {
    this.#child = child;
    this.#isUnnumbered = isUnnumbered;
    child.stdout.on("data", (chunk: Buffer) => this.#read(chunk));
    this.#closed = child.exit.then(async () => {
      this.#end();
      await child.gone;
      await confinement[Symbol.asyncDispose]();
    });
    background(this.#closed, "The end of a language server");
  }

  /**
   * Starts it in a confinement, which is closed when it ends. `isUnnumbered` says that its reports do not
   * tell which text of a file they are about.
   */
  static async start(
    program: ChildOptions,
    confinement: Pick<Confinement, "confine" | typeof Symbol.asyncDispose>,
    signal: AbortSignal,
    isUnnumbered = false,
  ): Promise<LanguageServer> {
    await using opened = new AsyncDisposableStack();
    opened.use(confinement);
    const child = await OwnedChild.start(confinement.confine(program));
    const server = new LanguageServer(child, opened.move(), isUnnumbered);
    try {
      const rootUri = pathToFileURL(program.cwd ?? "/").href;
      const textDocument = {
        synchronization: {},
        publishDiagnostics: { versionSupport: true },
        diagnostic: {},
      };
      const params = {
        processId: null,
        rootUri,
        workspaceFolders: [{ uri: rootUri, name: "workspace" }],
        capabilities: { textDocument, workspace: { configuration: true, workspaceFolders: true } },
      };
      const { capabilities } = (await server.#request("initialize", params, signal)) as {
        capabilities?: Json;
      };
      server.#pulls = capabilities?.diagnosticProvider !== undefined;
      server.#send({ method: "initialized", params: {} });
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get isOver(): boolean {
    return this.#child.isOver;
  }

  /** The errors of a file with this text. */
  async errors(
    path: string,
    language: string,
    text: string,
    signal: AbortSignal,
  ): Promise<readonly Diagnostic[]> {
    const uri = pathToFileURL(path).href;
    const version = (this.#versions.get(uri) ?? 0) + 1;
    this.#versions.set(uri, version);
    this.#published.delete(uri);
    const method = version === 1 ? "textDocument/didOpen" : "textDocument/didChange";
    const params =
      version === 1
        ? { textDocument: { uri, languageId: language, version, text } }
        : { textDocument: { uri, version }, contentChanges: [{ text }] };
    this.#send({ method, params });
    if (this.#pulls) {
      const asked = { textDocument: { uri } };
      const { items } = await this.#request("textDocument/diagnostic", asked, signal);
      return errorsIn(items);
    }
    // Some report syntax first and types later: the last report of a moment counts.
    for (;;) {
      const before = this.#published.get(uri);
      const next = this.#heard.promise;
      const quiet = AbortSignal.timeout(QUIET);
      const waits = before === undefined ? signal : AbortSignal.any([signal, quiet]);
      try {
        await untilAborted(next, waits);
      } catch (error) {
        if (before !== undefined && !signal.aborted) return before;
        throw error;
      }
      if (this.isOver) throw new Error("the language server has ended");
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#child.kill();
    await this.#closed;
  }

  async #request(method: string, params: object, signal: AbortSignal): Promise<Json> {
    if (this.isOver) throw new Error("the language server has ended");
    const id = ++this.#lastId;
    const waiting = Promise.withResolvers<Json>();
    this.#pending.set(id, waiting);
    this.#send({ id, method, params });
    try {
      return await untilAborted(waiting.promise, signal);
    } finally {
      if (this.#pending.delete(id)) this.#send({ method: "$/cancelRequest", params: { id } });
    }
  }

  #send(message: object): void {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    const { stdin } = this.#child;
    if (stdin.writableLength > MOST_BYTES) throw new Error("the language server does not read");
    stdin.write(`Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);
  }

  #read(chunk: Buffer): void {
    const { stdout } = this.#child;
    if (this.#isRefused) return;
    // It may flood: others have their turn first.
    if (chunk.length >= FULL_READ) {
      stdout.pause();
      setImmediate(() => stdout.resume());
    }
    this.#input.push(chunk);
    this.#length += chunk.length;
    if (this.#length < this.#needed) return;
    this.#isRefused = !this.#takeAll(Buffer.concat(this.#input));
    if (this.#isRefused) this.#child.kill();
  }

  /** Takes the whole messages, and keeps the rest. False if it is no message, or one that costs too much. */
  #takeAll(input: Buffer): boolean {
    for (let rest = input; ; rest = rest.subarray(this.#needed)) {
      const end = rest.subarray(0, LONGEST_HEAD).indexOf("\r\n\r\n");
      const head = rest.subarray(0, Math.max(0, end)).toString("latin1");
      const size = Number(/content-length: *(\d+)/i.exec(head)?.[1] ?? Number.NaN);
      if (end < 0 ? rest.length > LONGEST_HEAD : !(size <= MOST_BYTES)) return false;
      this.#needed = end < 0 ? 0 : end + 4 + size;
      if (end < 0 || rest.length < this.#needed) {
        [this.#input, this.#length] = [[rest], rest.length];
        return true;
      }
      const body = tryParse(rest.toString("utf8", end + 4, this.#needed), DEFAULT_LIMITS);
      if (body === TOO_MUCH || body instanceof RpcError) return false;
      try {
        this.#take(body as Json);
      } catch {
        return false;
      }
    }
  }

  #take({ id, method, params, result, error }: Json): void {
    if (method === undefined) {
      const waiting = this.#pending.get(Number(id));
      this.#pending.delete(Number(id));
      if (error === undefined) waiting?.resolve((result ?? {}) as Json);
      else waiting?.reject(new Error(String((error as Json).message)));
    } else if (id !== undefined) {
      // It asks for settings, or to register something: there is nothing to say.
      const { items = [] } = (params ?? {}) as { readonly items?: readonly unknown[] };
      const answer = method === "workspace/configuration" ? items.map(() => null) : null;
      this.#send({ id, result: answer });
    } else if (method === "textDocument/publishDiagnostics") {
      const { uri, diagnostics, version } = (params ?? {}) as Json;
      // The server is not trusted: only files that it was told of.
      if (!this.#versions.has(String(uri))) return;
      // Without a number it is about the file on disk, unless the server numbers none.
      const isNumbered = typeof version === "number";
      const current = this.#versions.get(String(uri)) ?? 0;
      if (isNumbered ? version < current : !this.#isUnnumbered) return;
      this.#published.set(String(uri), errorsIn(diagnostics));
      this.#heard.resolve();
      this.#heard = Promise.withResolvers();
    }
  }

  #end(): void {
    for (const waiting of this.#pending.values()) {
      waiting.reject(new Error("the language server has ended"));
    }
    this.#pending.clear();
    this.#heard.resolve();
  }
}

const MOST_MESSAGE = 400;
/** Of one file. */
const MOST_ERRORS = 1_000;

/** LSP 3.17, Diagnostic: severity 1 is an error; without one, the client decides. */
function errorsIn(diagnostics: unknown): readonly Diagnostic[] {
  if (!Array.isArray(diagnostics)) return [];
  return (diagnostics as Json[]).slice(0, MOST_ERRORS).flatMap((each) => {
    const { severity = 1, message, code, range } = each;
    if (severity !== 1) return [];
    const { line, character } = ((range as Json | undefined)?.start ?? {}) as Json;
    return [
      {
        line: Number(line ?? 0) + 1,
        column: Number(character ?? 0) + 1,
        message: String(message).slice(0, MOST_MESSAGE),
        code: typeof code === "string" || typeof code === "number" ? String(code) : "",
      },
    ];
  });
}
