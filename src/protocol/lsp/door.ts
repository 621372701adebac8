import { fileURLToPath, pathToFileURL } from "node:url";

import { attempt } from "../../base/attempt.ts";
import { TrunklineError } from "../../base/errors.ts";
import { VERSION } from "../../base/version.ts";
import { ACP } from "../../rpc/codes.ts";
import { type Method, notification, request } from "../../rpc/method.ts";
import type { Peer } from "../../rpc/peer.ts";
import type { Dialect, PeerOptions } from "../../rpc/peer-options.ts";
import { route, routes } from "../../rpc/route.ts";
import * as schema from "./schema.gen.ts";

/** A thread as an editor shows it. */
export interface ShownThread {
  readonly id: string;
  /** The absolute path of its file. */
  readonly file: string;
  /** From 1; undefined for the file as a whole, and where the lines are gone. */
  readonly line?: number | undefined;
  readonly end?: number | undefined;
  readonly severity: string;
  /** The comment and its replies. */
  readonly text: string;
  readonly hasSuggestion: boolean;
}

/** Lines of a file, from 1, and the text that is to be there. */
export interface Replacement {
  readonly line: number;
  readonly end: number;
  readonly text: string;
}

/** The reviews, as this door uses them. Texts of files are those in the editor, which may not be saved. */
export interface EditorReviews {
  /** The unresolved threads of a folder's repository; only some of them, if ids are given. */
  threads(
    folder: string,
    unsaved: ReadonlyMap<string, string>,
    only?: ReadonlySet<string>,
  ): Promise<readonly ShownThread[]>;
  resolve(id: string): Promise<void>;
  replacement(id: string, unsaved: ReadonlyMap<string, string>): Promise<Replacement>;
  /**
   * Makes a file in which a person writes a comment. Saving the file sends the comment, and `said` gets the
   * outcome.
   */
  writeComment(at: CommentPlace, said: (outcome: string) => void): string;
  writeReply(thread: ShownThread, said: (outcome: string) => void): string;
  /** Calls back when threads may have changed. */
  watch(changed: () => void): () => void;
}

export interface CommentPlace {
  readonly file: string;
  readonly line: number;
  readonly end: number;
  /** The text of the file in the editor. */
  readonly text: string | undefined;
}

interface Document {
  readonly file: string;
  readonly version: number;
  readonly text: string;
}

/** Milliseconds after a change: a person types faster. */
const SETTLE = 100;
/** LSP 3.17, DiagnosticSeverity. */
const SEVERITIES: Readonly<Record<string, number>> = { must: 1, should: 2 };
const INFORMATION = 3;
/** LSP 3.17, MessageType. */
const INFO = 3;

const lspDialect: Dialect = {
  name: "lsp",
  batches: false,
  nullIdIsNotification: false,
  cancel: { method: "$/cancelRequest", param: "id", answer: ACP.cancelled },
  methodNotFound: (name) => `There is no method '${name}'`,
};

const publish = notification<object>("textDocument/publishDiagnostics");
const showMessage = notification<object>("window/showMessage");
const showDocument = request<object>("window/showDocument");
const applyEdit = request<object, { readonly applied?: boolean } | null>("workspace/applyEdit");

/** The Language Server Protocol 3.17 for one editor: threads as diagnostics, and what one can do with them. */
export class LspDoor implements AsyncDisposable {
  readonly #reviews: EditorReviews;
  readonly #documents = new Map<string, Document>();
  /** Folders of the workspace. */
  readonly #folders = new Set<string>();
  #threads: readonly ShownThread[] = [];
  /** The diagnostics that were last sent, by URI. */
  readonly #published = new Map<string, string>();
  readonly #report: (error: unknown) => void;
  #showsDocuments = false;
  #peer: Peer | undefined;
  #isOver = false;
  #timer: NodeJS.Timeout | undefined;
  /** The changed documents, or everything. */
  #stale: Set<string> | "all" = new Set();
  #refreshing: Promise<void> = Promise.resolve();
  readonly #stop: () => void;
  /** Resolves with the client's `exit`. */
  readonly exited = Promise.withResolvers<void>();

  constructor(reviews: EditorReviews, report: (error: unknown) => void) {
    this.#reviews = reviews;
    this.#report = report;
    this.#stop = reviews.watch(() => this.#refreshSoon("all"));
  }

  get options(): PeerOptions<undefined> {
    const initialize = request("initialize", schema.checkInitializeParams);
    const open = notification("textDocument/didOpen", schema.checkDidOpenParams);
    const change = notification("textDocument/didChange", schema.checkDidChangeParams);
    const save = notification("textDocument/didSave", schema.checkDocumentParams);
    const close = notification("textDocument/didClose", schema.checkDocumentParams);
    const actions = request("textDocument/codeAction", schema.checkCodeActionParams);
    const execute = request("workspace/executeCommand", schema.checkExecuteCommandParams);
    return {
      dialect: lspDialect,
      routes: routes(
        route(initialize, (params) => this.#initialize(params)),
        route(notification("initialized"), () => this.#refreshSoon("all")),
        route(request("shutdown"), () => null),
        route(notification("exit"), () => this.exited.resolve()),
        route(open, ({ textDocument: { uri, version, text } }) => this.#set(uri, version, text)),
        route(change, ({ textDocument: { uri, version }, contentChanges }) => {
          const last = contentChanges.at(-1);
          if (last !== undefined) this.#set(uri, version, last.text);
        }),
        route(save, () => this.#refreshSoon("all")),
        route(close, ({ textDocument: { uri } }) => {
          this.#documents.delete(uri);
          this.#refreshSoon("all");
        }),
        route(actions, (params) => this.#actions(params)),
        route(execute, (params) => this.#execute(params)),
      ),
    };
  }

  /** Called once, before the first message. */
  speakTo(peer: Peer): void {
    this.#peer = peer;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    this.#stop();
    clearTimeout(this.#timer);
    await this.#refreshing;
  }

  #initialize({ workspaceFolders, rootUri, capabilities }: schema.InitializeParams): object {
    const roots = workspaceFolders?.map(({ uri }) => uri) ?? (rootUri ? [rootUri] : []);
    for (const folder of roots.map(fileOf)) if (folder !== undefined) this.#folders.add(folder);
    this.#showsDocuments = capabilities?.window?.showDocument?.support === true;
    return {
      serverInfo: { name: "Trunkline", version: VERSION },
      capabilities: {
        // Whole texts: positions are found by comparing them.
        textDocumentSync: { openClose: true, change: 1, save: true },
        codeActionProvider: { codeActionKinds: ["quickfix"] },
        executeCommandProvider: { commands: Object.values(COMMANDS) },
      },
    };
  }

  #set(uri: string, version: number, text: string): void {
    const file = fileOf(uri);
    if (file === undefined) return;
    const isNew = !this.#documents.has(uri);
    this.#documents.set(uri, { file, version, text });
    this.#refreshSoon(isNew ? "all" : uri);
  }

  #refreshSoon(what: string): void {
    if (what === "all" || this.#stale === "all") this.#stale = "all";
    else this.#stale.add(what);
    if (this.#isOver) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => {
      this.#refreshing = this.#refreshing.then(() => this.#refresh()).catch(this.#report);
    }, SETTLE);
  }

  async #refresh(): Promise<void> {
    const stale = this.#stale;
    this.#stale = new Set();
    const files = new Set([...this.#documents.values()].map(({ file }) => file));
    if (stale === "all") this.#threads = await this.#find([...this.#folders, ...files]);
    else {
      const changed = new Set([...stale].map((uri) => this.#documents.get(uri)?.file ?? ""));
      const only = new Set(
        this.#threads.filter(({ file }) => changed.has(file)).map(({ id }) => id),
      );
      if (only.size === 0) return;
      const found = await this.#find([...changed], only);
      this.#threads = [...this.#threads.filter(({ id }) => !only.has(id)), ...found];
    }
    this.#publish();
  }

  /** Two places may be in one repository. */
  async #find(places: readonly string[], only?: ReadonlySet<string>): Promise<ShownThread[]> {
    const found = new Map<string, ShownThread>();
    for (const place of places) {
      const threads = await this.#reviews.threads(place, this.#unsaved, only);
      for (const thread of threads) found.set(thread.id, thread);
    }
    return [...found.values()];
  }

  get #unsaved(): ReadonlyMap<string, string> {
    return new Map([...this.#documents.values()].map(({ file, text }) => [file, text]));
  }

  #publish(): void {
    const byUri = Map.groupBy(this.#threads, ({ file }) => this.#uriOf(file));
    for (const uri of new Set([...byUri.keys(), ...this.#published.keys()])) {
      const document = this.#documents.get(uri);
      const diagnostics = (byUri.get(uri) ?? []).map((thread) => diagnosticOf(thread, document));
      const text = JSON.stringify(diagnostics);
      if ((this.#published.get(uri) ?? "[]") === text) continue;
      this.#published.set(uri, text);
      const version = document === undefined ? {} : { version: document.version };
      this.#tell(publish, { uri, ...version, diagnostics });
    }
  }

  /** As the editor writes it. */
  #uriOf(file: string): string {
    const [open] = [...this.#documents].find(([, document]) => document.file === file) ?? [];
    return open ?? pathToFileURL(file).href;
  }

  #actions({ textDocument, range, context }: schema.CodeActionParams): object[] {
    const { uri } = textDocument;
    const file = fileOf(uri);
    const isWanted = context?.only?.some((kind) => "quickfix".startsWith(kind)) ?? true;
    if (file === undefined || !isWanted) return [];
    const [first, last] = [range.start.line + 1, range.end.line + 1];
    const here = this.#threads.filter(
      ({ file: its, line = 1, end = line }) => its === file && line <= last && first <= end,
    );
    const document = this.#documents.get(uri);
    const lines = first === last ? `line ${first}` : `lines ${first} to ${last}`;
    return [
      ...here.flatMap((thread) => {
        const { id, hasSuggestion } = thread;
        const diagnostics = [diagnosticOf(thread, document)];
        const action = (title: string, command: string): object => {
          return { ...actionOf(title, command, [id]), diagnostics };
        };
        return [
          ...(hasSuggestion ? [action(`Apply the suggestion of ${id}`, COMMANDS.apply)] : []),
          action(`Resolve ${id}`, COMMANDS.resolve),
          action(`Reply to ${id}`, COMMANDS.reply),
        ];
      }),
      actionOf(`Comment on ${lines}`, COMMANDS.comment, [uri, first, last]),
    ];
  }

  async #execute({ command, arguments: args = [] }: schema.ExecuteCommandParams): Promise<null> {
    const [id, first, last] = args;
    const thread = this.#threads.find((each) => each.id === id);
    if (command === COMMANDS.comment) {
      const file = fileOf(String(id));
      if (file === undefined) throw usage(`Cannot comment on '${String(id)}': it is not a file.`);
      const [line, end] = [Number(first), Number(last)];
      const text = this.#documents.get(String(id))?.text;
      await this.#show(this.#reviews.writeComment({ file, line, end, text }, this.#say));
    } else if (thread === undefined) {
      throw usage(`Cannot run '${command}': there is no unresolved thread '${String(id)}' here.`);
    } else if (command === COMMANDS.reply) {
      await this.#show(this.#reviews.writeReply(thread, this.#say));
    } else if (command === COMMANDS.resolve) await this.#resolve(thread);
    else if (command === COMMANDS.apply) await this.#apply(thread);
    else throw usage(`Cannot run '${command}': there is no such command.`);
    return null;
  }

  async #resolve({ id }: ShownThread): Promise<void> {
    await this.#reviews.resolve(id);
    this.#refreshSoon("all");
  }

  /**
   * Applies it to the editor's text, which may not be saved; the thread is resolved when that text has
   * changed.
   */
  async #apply(thread: ShownThread): Promise<void> {
    const { line, end, text } = await this.#reviews.replacement(thread.id, this.#unsaved);
    const range = { start: { line: line - 1, character: 0 }, end: { line: end, character: 0 } };
    const changes = { [this.#uriOf(thread.file)]: [{ range, newText: text }] };
    const label = `Suggestion of ${thread.id}`;
    const answer = await this.#peer?.request(applyEdit, { label, edit: { changes } });
    if (answer?.applied !== true) {
      throw usage(`The editor has not applied the suggestion of ${thread.id}: do it by hand.`);
    }
    await this.#resolve(thread);
  }

  async #show(draft: string): Promise<void> {
    const uri = pathToFileURL(draft).href;
    const shown = this.#showsDocuments
      ? await this.#peer?.request(showDocument, { uri, takeFocus: true })
      : undefined;
    if ((shown as { success?: unknown } | undefined)?.success === true) return;
    this.#say(`Write it in ${draft}, and save the file.`);
  }

  #tell(what: Method<object, void>, params: object): void {
    if (this.#peer !== undefined) this.#peer.notify(what, params);
  }

  readonly #say = (message: string): void => {
    this.#tell(showMessage, { type: INFO, message });
    this.#refreshSoon("all");
  };
}

const COMMANDS = {
  apply: "trunkline.review.apply",
  resolve: "trunkline.review.resolve",
  reply: "trunkline.review.reply",
  comment: "trunkline.review.comment",
} as const;

function actionOf(title: string, command: string, args: readonly unknown[]): object {
  return { title, kind: "quickfix", command: { title, command, arguments: args } };
}

function diagnosticOf(thread: ShownThread, document: Document | undefined): object {
  const { id, line = 1, end = line, severity, text } = thread;
  const length = document?.text.split("\n", end)[end - 1]?.replace(/\r$/, "").length ?? 0;
  return {
    range: { start: { line: line - 1, character: 0 }, end: { line: end - 1, character: length } },
    severity: SEVERITIES[severity] ?? INFORMATION,
    source: "trunkline",
    code: id,
    message: text,
  };
}

function fileOf(uri: string): string | undefined {
  // A buffer without a file, or one on another machine.
  return attempt(() => fileURLToPath(uri));
}

function usage(says: string): TrunklineError {
  return new TrunklineError("usage", says);
}
