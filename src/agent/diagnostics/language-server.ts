import { pathToFileURL } from "node:url";

import { untilAborted } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { type ChildOptions, OwnedChild } from "../../base/process/child-process.ts";
import { parseMessage } from "../../rpc/message/message.ts";
import { notification, request } from "../../rpc/method.ts";
import { Peer } from "../../rpc/peer.ts";
import { type Dialect, resolvePeerLimits } from "../../rpc/peer-options.ts";
import { route, routes } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { streamChannel } from "../../wire/channel/stream.ts";
import { contentLength } from "../../wire/framing/content-length.ts";
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

/** Most bytes of one message, and of input that a server has not read; a server beyond that is ended. */
const MOST_BYTES = 32 * 1024 * 1024;
/** Milliseconds without another report after which a server that reports by itself is done. */
const QUIET = 300;

const lsp: Dialect = {
  name: "lsp",
  batches: false,
  nullIdIsNotification: false,
  cancel: { method: "$/cancelRequest", param: "id" },
  methodNotFound: (name) => `There is no method '${name}'`,
};

/**
 * A language server, as far as it tells the errors of a file: a few messages of the Language Server Protocol
 * 3.17. What it says is not trusted.
 */
export class LanguageServer implements AsyncDisposable {
  readonly #child: OwnedChild;
  readonly #peer: Peer;
  /** Resolves when it has ended, and its confinement after it. */
  readonly #closed: Promise<void>;
  readonly #versions = new Map<string, number>();
  readonly #published = new Map<string, readonly Diagnostic[]>();
  #heard = Promise.withResolvers<void>();
  #pulls = false;
  readonly #isUnnumbered: boolean;

  private constructor(child: OwnedChild, confinement: AsyncDisposable, isUnnumbered: boolean) {
    this.#child = child;
    this.#isUnnumbered = isUnnumbered;
    const limits = { maxMessage: MOST_BYTES, highWater: MOST_BYTES, maxUnsent: MOST_BYTES };
    const channel = streamChannel(child.stdout, child.stdin, { limits, framing: contentLength });
    const refuse = (): void => channel.abort(new Error("what it said is no message, or too much"));
    this.#peer = new Peer(channel, undefined, {
      dialect: lsp,
      receiver: (peer) => ({
        message: (text) => {
          const message = parseMessage(text, resolvePeerLimits());
          return message instanceof RpcError ? refuse() : peer.message(text, message);
        },
        fault: refuse,
        end: (error) => peer.end(error),
      }),
      // The server asks for settings; there are none.
      routes: routes(
        route(request<Json>("workspace/configuration"), ({ items }) =>
          Array.isArray(items) ? items.map(() => null) : null,
        ),
        route(request("workspace/workspaceFolders"), () => null),
        route(notification<Json>("textDocument/publishDiagnostics"), (report) =>
          this.#take(report),
        ),
      ),
    });
    background(
      this.#peer.ended.then(() => {
        this.#heard.resolve();
        child.kill();
      }),
      "Ending a language server",
    );
    this.#closed = child.exit.then(async () => {
      await this.#peer.close();
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
      background(server.#peer.notify({ name: "initialized" }, {}), "Greeting a language server");
      return server;
    } catch (error) {
      await server[Symbol.asyncDispose]();
      throw error;
    }
  }

  get isOver(): boolean {
    return this.#child.isOver || this.#peer.hasEnded;
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
    background(this.#peer.notify({ name: method }, params), "Telling a language server");
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

  #request(name: string, params: object, signal: AbortSignal): Promise<Json> {
    return this.#peer.request<object, Json>({ name }, params, { signal });
  }

  #take({ uri, diagnostics, version }: Json): void {
    // The server is not trusted: only files that it was told of.
    const current = this.#versions.get(String(uri));
    if (current === undefined) return;
    // Without a number it is about the file on disk, unless the server numbers none.
    if (typeof version === "number" ? version < current : !this.#isUnnumbered) return;
    this.#published.set(String(uri), errorsIn(diagnostics));
    this.#heard.resolve();
    this.#heard = Promise.withResolvers();
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
