import { background } from "../../base/background.ts";
import { atMost } from "../../base/abort.ts";
import {
  type OpenedSession,
  type TerminalClient,
  type SessionTarget,
  withLoss,
} from "../../protocol/acp/attach.ts";
import { control, firstLine } from "../shell/layout.ts";
import { type Completion, Completions } from "./completion.ts";
import { LineEditor } from "./line-editor.ts";
import type { LiveScreen } from "./live-screen.ts";
import { MOVE_HELP } from "./move-chat.ts";
import { Picker, type PickerItem } from "./picker.ts";
import { QuestionPrompt } from "./question-prompt.ts";
import { promptBlocks } from "../../agent/prompt/prompt-blocks.ts";
import type { PromptHistory } from "./prompt-history.ts";
import { Status } from "./status-line.ts";
import { type Line, line, span } from "../transcript/styled-line.ts";
import type { Key } from "./terminal-input.ts";
import { type Json, textOf, wordsOf } from "../transcript/tool-content.ts";
import { transcriptView, type TranscriptView } from "./transcript-view.ts";

/** Lines of an earlier conversation that are shown. */
const REPLAYED = 100;
/** Milliseconds in which a second Ctrl-C leaves. */
const TWICE = 2_000;
/** Milliseconds that a cancelled turn may take to end when the person leaves. */
const FAREWELL = 2_000;
/** Milliseconds between two frames, and between two times in the status. */
const FRAME = 25;
const TICK = 1_000;
const POPUP_ROWS = 8;

/** What the terminal itself does, and what another program does for it. */
export interface ConversationHost {
  readonly screen: LiveScreen;
  readonly history: PromptHistory;
  readonly out: (text: string) => void;
  /** Stops the process until the shell continues it. */
  readonly stop: () => void;
  /** Has the person edit a text in their editor. Rejects if that fails. */
  readonly edit: (text: string) => Promise<string>;
  /** The image that the clipboard holds, as a file. */
  readonly clipboardImage: () => Promise<string | undefined>;
  /** The sessions of this data folder, those that wait for a person first; undefined for those of the gateway. */
  readonly sessions: (() => Promise<readonly PickerItem[]>) | undefined;
  /** How a session is opened; undefined is a new one. */
  readonly wanted: (
    sessionId: string | undefined,
  ) => Promise<SessionTarget & { readonly agent?: string | undefined }>;
}

/** A message that waits to be taken by the agent. */
interface PendingMessage {
  readonly text: string;
  readonly how: "steer" | "queue";
  /** Undefined until the session is open. */
  sessionId: string | undefined;
  readonly controller: AbortController;
}

/** Commands of the terminal itself. */
const OWN_COMMANDS: readonly PickerItem[] = [
  { value: "/sessions", hint: "Switch to another session; those that wait come first" },
  { value: "/resume", hint: "Continue the session with this id" },
  { value: "/new", hint: "Begin a new session here" },
  {
    value: "/move",
    hint: "Move the session with its work to a gateway, or `here`, and go on there",
  },
  { value: "/keys", hint: "Show the keys" },
  { value: "/exit", hint: "Leave; the session is stored" },
];

const KEYS_HELP = `Enter sends; during a turn it steers the agent, and Tab queues the message instead
Alt-Enter, Ctrl-J or \\ and Enter begin a new line; Up takes a waiting message back
Ctrl-G edits the text in $EDITOR; Up, Down and Ctrl-R find earlier prompts
/ completes commands, @ files; a path of an image attaches it, Ctrl-V the one that was copied
Ctrl-O opens the last tool call; Ctrl-T lists sessions; Shift-Tab changes the mode
Ctrl-C or Esc cancels the turn; Ctrl-C twice or Ctrl-D leaves; Ctrl-Z stops; Ctrl-L clears`;

/** A conversation at a terminal: what keys do, and what is on the screen. */
export class Conversation implements Disposable {
  readonly #host: ConversationHost;
  readonly #editor = new LineEditor();
  readonly #completions: Completions;
  readonly #questions = new Map<string, QuestionPrompt>();
  /** The messages whose turns have not ended, in all sessions. */
  readonly #turns = new Map<PendingMessage, Promise<void>>();
  readonly #left = Promise.withResolvers<void>();
  /** Where the person has said that the session goes on, by `/move`. */
  movesTo: string | undefined;
  /** Resolves when the person has left. */
  readonly left: Promise<void> = this.#left.promise;
  #transcript: TranscriptView;
  #status = new Status("\u2026");
  #client: TerminalClient | undefined;
  #session: OpenedSession | undefined;
  /** The session that is being opened: what was said in it is shown first. */
  #opening: string | undefined;
  #replayed: Line[] | undefined;
  /** Resolves when it is open, or could not be opened. */
  #opened = Promise.withResolvers<void>();
  #folder = process.cwd();
  #commands: readonly PickerItem[] = [];
  #pending: readonly PendingMessage[] = [];
  #turnSince: number | undefined;
  #isOthersTurn = false;
  /** The text for which completions are looked for, until Escape. */
  #completing = "";
  #popup: (Completion & { readonly picker: Picker }) | undefined;
  #list: { readonly picker: Picker; readonly choose: (item: PickerItem) => void } | undefined;
  #note = "";
  #interruptedAt = -Infinity;
  #isAway = false;
  #isLeaving = false;
  #frame: NodeJS.Timeout | undefined;
  readonly #ticks: NodeJS.Timeout;

  constructor(host: ConversationHost) {
    this.#host = host;
    this.#transcript = this.#newTranscript();
    this.#completions = new Completions({
      commands: () => [...OWN_COMMANDS, ...this.#commands],
      sessions: () => this.#sessions(),
      folder: () => this.#folder,
    });
    this.#ticks = setInterval(() => {
      if (this.#turnSince !== undefined) this.draw();
    }, TICK);
  }

  get sessionId(): string | undefined {
    return this.#session?.sessionId;
  }

  /** The client is there: opens the first session. Rejects if that fails. */
  async begin(
    client: TerminalClient,
    wanted: SessionTarget,
    agent: string,
    folder: string,
  ): Promise<Pick<OpenedSession, "settings">> {
    this.#client = client;
    await this.#open(wanted, agent, folder);
    return this.#session ?? { settings: null };
  }

  update(sessionId: string, update: Json): void {
    if (sessionId !== (this.#opening ?? this.#session?.sessionId)) return;
    this.#status.update(update);
    const { sessionUpdate } = update;
    if (sessionUpdate === "available_commands_update") this.#commands = commandsOf(update);
    if (sessionUpdate === "session_info_update") this.#info(update._meta);
    if (sessionUpdate === "user_message_chunk") this.#taken(textOf(update.content));
    this.#transcript.update(update);
    this.draw();
  }

  readonly permit: QuestionPrompt["permit"] = (params, signal) =>
    this.#questionOf(params.sessionId).permit(params, signal);

  /** An elicitation that names no session is about the login of the open one. */
  readonly elicit: QuestionPrompt["elicit"] = (params, signal) =>
    this.#questionOf(params.sessionId ?? this.#here).elicit(params, signal);

  /** A message about the program, such as that a session waits for a worker. */
  say(text: string): void {
    this.#transcript.note(text, "dim");
    this.draw();
  }

  key(key: Key): void {
    if (!this.#isAway) this.#key(key);
    this.draw();
  }

  paste(text: string): void {
    if (this.#list === undefined) this.#typing.insert(text);
    this.#popup = undefined;
    this.draw();
  }

  /** Shows everything again, after another program had the terminal. */
  back(): void {
    this.#host.screen.forget();
    this.draw();
  }

  leave(): void {
    this.#isLeaving = true;
    this.#left.resolve();
  }

  /** Cancels what runs, and gives it a moment to end. Nothing is drawn any more. */
  async farewell(): Promise<void> {
    this.#isLeaving = true;
    for (const { sessionId } of this.#turns.keys()) {
      if (sessionId !== undefined) this.#client?.cancel(sessionId);
    }
    if (this.#client !== undefined) await atMost(FAREWELL, Promise.all(this.#turns.values()));
    this.#transcript.end();
    this.#host.screen.clear();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#ticks);
    clearTimeout(this.#frame);
  }

  /** Draws the tail of the screen soon. */
  draw(): void {
    if (this.#isAway || this.#isLeaving) return;
    this.#frame ??= setTimeout(() => this.drawNow(), FRAME);
  }

  drawNow(): void {
    clearTimeout(this.#frame);
    this.#frame = undefined;
    const { screen } = this.#host;
    if (this.#isAway || this.#isLeaving) return;
    const width = screen.columns;
    const question = this.#question;
    const isTyping = this.#list === undefined && question?.isFocused !== true;
    const isOpen = this.#session !== undefined;
    const says = isOpen ? "/ for commands, /keys for keys" : "Opening the session \u2026";
    const hint = span(says, "dim");
    const mark = [span("> ", ...(isTyping ? (["cyan", "bold"] as const) : (["dim"] as const)))];
    const { rows: typed, caret } = this.#editor.rows(width, mark, [hint]);
    const popup = this.#popup?.picker.rows(width, POPUP_ROWS) ?? [];
    const list = this.#list?.picker.rows(width, Math.max(3, screen.rows - typed.length - 4)) ?? [];
    const pending = this.#waiting.map((each) => pendingLine(each));
    const below = [...popup, ...list, line(this.#statusText(), "dim")];
    const room = screen.rows - typed.length - below.length - pending.length - 1;
    const { rows: asked, caret: filling } =
      (this.#list === undefined && question?.rows(width, Math.max(6, room - 3))) || NOTHING;
    const live = this.#transcript.live(Math.max(1, room - asked.length - 1));
    const above = [...live, [], ...asked, ...pending];
    const place = filling ?? caret;
    const from = filling === undefined ? above.length : live.length + 1;
    screen.draw([...above, ...typed, ...below], { ...place, row: from + place.row });
  }

  #statusText(): string {
    if (this.#note !== "") return this.#note;
    const { plan } = this.#transcript;
    const since = this.#turnSince;
    const waiting = [...this.#questions].filter(
      ([id, each]) => id !== this.#session?.sessionId && each.isOpen,
    ).length;
    return this.#status.text(since === undefined ? undefined : performance.now() - since, [
      plan === undefined ? undefined : `plan ${plan.done}/${plan.of}`,
      waiting === 0 ? undefined : `${waiting} waiting: Ctrl-T`,
      since === undefined ? undefined : "Esc cancels",
    ]);
  }

  /** The id of the session that is shown. */
  get #here(): string {
    return this.#session?.sessionId ?? this.#opening ?? "";
  }

  get #question(): QuestionPrompt | undefined {
    const question = this.#questions.get(this.#here);
    return question?.isOpen === true ? question : undefined;
  }

  #questionOf(sessionId: string): QuestionPrompt {
    const make = (): QuestionPrompt => new QuestionPrompt(() => this.draw());
    return this.#questions.getOrInsertComputed(sessionId, make);
  }

  #newTranscript(): TranscriptView {
    const { screen } = this.#host;
    return transcriptView({
      width: () => screen.columns,
      print: (lines) => {
        if (this.#replayed === undefined) screen.print(lines);
        else this.#replayed.push(...lines);
      },
    });
  }

  async #open(wanted: SessionTarget, agent: string, folder: string): Promise<void> {
    this.#status = new Status(agent);
    this.#opening = "sessionId" in wanted ? wanted.sessionId : undefined;
    this.#session = undefined;
    this.#folder = folder;
    this.#commands = [];
    this.#replayed = [];
    this.#turnSince = undefined;
    this.#isOthersTurn = false;
    this.draw();
    try {
      const session = await this.#client?.open(wanted);
      this.#session = session;
      this.#status.opened(session?.settings ?? null);
      const { turn } = oursOf((session?.settings as Json | null | undefined)?._meta);
      if (turn === "running") this.#othersTurn(true);
      else this.#transcript.end();
    } finally {
      const lines = this.#replayed ?? [];
      this.#replayed = undefined;
      this.#opening = undefined;
      this.#opened.resolve();
      this.#host.screen.print(this.#lastLines(lines));
      this.draw();
    }
  }

  /** The end of an earlier conversation, and how to read the rest. */
  #lastLines(lines: readonly Line[]): readonly Line[] {
    if (lines.length <= REPLAYED) return lines;
    const id = this.#session?.sessionId.slice(0, 8) ?? "";
    const rest = `\u2026 the beginning: \`trunkline session replay ${id}\``;
    return [line(rest, "dim"), ...lines.slice(-REPLAYED)];
  }

  /** What others do in the session. */
  #info(meta: unknown): void {
    const { turn, permission } = oursOf(meta);
    const { state, error } = (turn ?? {}) as Json;
    if (typeof state === "string") {
      this.#othersTurn(state === "running");
      if (state !== "running" && state !== "end_turn") {
        const why = error === undefined ? "" : `: ${wordsOf(error)}`;
        this.#transcript.note(`(${state}${why})`, "dim");
      }
    }
    const { state: answered, by, outcome } = (permission ?? {}) as Json;
    if (answered !== "answered") return;
    const { kind } = (outcome ?? {}) as Json;
    const decided = wordsOf(kind).replace("_", " ") || "cancelled";
    this.#transcript.note(`${decided} (${wordsOf(by)})`, "dim");
  }

  #othersTurn(isRunning: boolean): void {
    this.#isOthersTurn = isRunning;
    if (!isRunning) this.#transcript.end();
    if (isRunning) this.#turnSince ??= performance.now();
    else this.#settle();
  }

  /** Messages that wait in this session. */
  get #waiting(): readonly PendingMessage[] {
    return this.#pending.filter((each) => this.#isHere(each));
  }

  #isHere({ sessionId }: PendingMessage): boolean {
    return sessionId === undefined || sessionId === this.#session?.sessionId;
  }

  /** Stops the clock if nothing runs in this session any more. */
  #settle(): void {
    const isRunning = [...this.#turns.keys()].some((each) => this.#isHere(each));
    if (!isRunning && !this.#isOthersTurn) this.#turnSince = undefined;
  }

  /** The agent has taken a message: it is a part of the conversation now. */
  #taken(text: string): void {
    const at = this.#pending.findIndex((each) => each.text === text);
    if (at >= 0) this.#pending = this.#pending.toSpliced(at, 1);
  }

  #key(key: Key): void {
    this.#note = "";
    if (this.#list !== undefined) return this.#listKey(key);
    const late = (each: Key): void => this.#textKey(each);
    const isForText = this.#question?.press(key, this.#editor.isEmpty, late) ?? "text";
    if (isForText === "text") this.#textKey(key);
  }

  #listKey(key: Key): void {
    const { picker, choose } = this.#list ?? {};
    if (key.name === "return" || key.name === "tab") {
      this.#list = undefined;
      if (picker?.chosen !== undefined) choose?.(picker.chosen);
    } else if (key.name === "escape" || (key.ctrl && "cdg".includes(key.name)))
      this.#list = undefined;
    else picker?.press(key);
  }

  #textKey(key: Key): void {
    const { name, ctrl } = key;
    if (ctrl && Object.hasOwn(this.#controls, name)) return this.#controls[name]?.();
    if (this.#popup !== undefined && this.#popupKey(key)) return;
    if (name === "tab" && key.shift) this.#nextMode();
    else if (name === "tab") {
      if (this.#turnSince !== undefined) this.#send("queue");
    } else if (name === "return" && !key.meta) this.#enter();
    else if (name === "escape") {
      // Completions that arrive after this would open below the cursor and take the next Enter.
      this.#completing = "";
      this.#cancel();
    } else if (name === "up" && this.#editor.isEmpty && this.#waiting.length > 0) this.#takeBack();
    else if (this.#editor.press(key)) this.#complete();
    else if (name === "up" || (ctrl && name === "p")) this.#fromHistory(-1);
    else if (name === "down" || (ctrl && name === "n")) this.#fromHistory(1);
  }

  /** Keys with Ctrl that do not edit. */
  readonly #controls: Readonly<Record<string, () => void>> = {
    c: () => this.#interrupt(),
    d: () => {
      if (this.#editor.isEmpty) this.leave();
      else this.#editor.press({ ...NO_KEY, name: "delete" });
    },
    g: () => this.#edit(),
    l: () => {
      this.#host.out(control("2J") + control("H"));
      this.#host.screen.forget();
    },
    o: () => this.#openLast(),
    r: () => this.#listHistory(),
    t: () => this.#listSessions(),
    v: () => this.#pasteImage(),
    z: () => {
      this.#host.screen.clear();
      this.#host.stop();
    },
  };

  #popupKey(key: Key): boolean {
    const popup = this.#popup;
    const item = popup?.picker.chosen;
    if (popup === undefined || item === undefined) return false;
    if (key.name === "escape") {
      this.#popup = undefined;
      return true;
    }
    if (key.name === "tab" || (key.name === "return" && !key.meta)) {
      const isFolder = item.value.endsWith("/") && popup.kind === "file";
      this.#popup = undefined;
      this.#editor.complete(popup.length, item.value + (isFolder ? "" : " "));
      if (isFolder) this.#complete();
      else if (key.name === "return" && popup.kind !== "file") this.#enter();
      return true;
    }
    return popup.picker.press(key);
  }

  #complete(): void {
    const { before } = this.#editor;
    const isWord = /(?:^\/|(?:^|\s)@)\S*$|^\/resume \S*$/.test(before);
    if (!isWord) {
      this.#popup = undefined;
      return;
    }
    this.#completing = before;
    // A server may refuse to list its sessions.
    this.#try(
      this.#completions.of(before).then((found) => {
        if (this.#editor.before !== before || this.#completing !== before) return;
        this.#popup = found && { ...found, picker: new Picker(found.items) };
      }),
    );
  }

  #enter(): void {
    if (this.#editor.before.endsWith("\\")) {
      this.#editor.complete(1, "\n");
      return;
    }
    const said = this.#editor.text.trim();
    const [word = "", argument = ""] = said.split(/\s+/);
    if (word === "/exit" || word === "/quit") return this.leave();
    if (!OWN_COMMANDS.some(({ value }) => value === word)) return this.#send("steer");
    this.#editor.set("");
    if (word === "/keys") this.say(KEYS_HELP);
    else if (word === "/move") this.#move(argument);
    else if (word === "/new") this.#switch();
    else if (argument !== "") this.#switch(argument);
    else this.#listSessions();
  }

  #move(to: string): void {
    if (to === "") return this.say(MOVE_HELP);
    if (this.#turnSince !== undefined || this.#isOthersTurn) {
      return this.say("A turn is running. Esc cancels it; move the session when it has ended.");
    }
    if (this.#session === undefined) return;
    this.movesTo = to;
    this.leave();
  }

  #send(how: PendingMessage["how"]): void {
    const text = this.#editor.text.trim();
    if (text === "") return;
    this.#editor.set("");
    this.#popup = undefined;
    const controller = new AbortController();
    const message: PendingMessage = { text, how, controller, sessionId: this.sessionId };
    this.#pending = [...this.#pending, message];
    const remembering = this.#host.history.add(text).catch(() => {});
    background(remembering, "Remembering a prompt");
    const turn = this.#turn(message).finally(() => {
      this.#turns.delete(message);
      this.#pending = this.#pending.filter((each) => each !== message);
      if (this.#isHere(message)) this.#isOthersTurn = false;
      this.#settle();
      this.draw();
    });
    this.#turns.set(message, turn);
    this.#turnSince ??= performance.now();
  }

  async #turn(message: PendingMessage): Promise<void> {
    const { text, how, controller } = message;
    // What is typed while the session is being opened waits for it.
    await this.#opened.promise;
    const client = this.#client;
    message.sessionId ??= this.sessionId;
    const { sessionId } = message;
    if (client === undefined || sessionId === undefined || controller.signal.aborted) return;
    try {
      const blocks = await promptBlocks(text, this.#folder);
      const taken = { whileRunning: how, echo: true } as const;
      const turn = client.prompt(sessionId, blocks, taken, controller.signal);
      const { stopReason } = await withLoss(client, turn);
      if (!this.#isHere(message)) return;
      if (stopReason === "cancelled") this.#giveBack(message);
      this.#transcript.end();
      if (stopReason !== "end_turn") this.#transcript.note(`(${stopReason})`, "dim");
    } catch (error) {
      if (controller.signal.aborted || this.#isLeaving || !this.#isHere(message)) return;
      this.#giveBack(message);
      this.#transcript.end();
      this.#transcript.note(`trunkline: ${(error as Error).message}`, "red");
    }
  }

  /** A message that the agent has not taken is not lost: the person can change it, and send it again. */
  #giveBack(message: PendingMessage): void {
    if (!this.#pending.includes(message)) return;
    const { text } = this.#editor;
    this.#editor.set(text === "" ? message.text : `${message.text}\n${text}`);
  }

  /** The last message that waits is withdrawn, and can be changed. */
  #takeBack(): void {
    const last = this.#waiting.at(-1);
    if (last === undefined) return;
    this.#pending = this.#pending.filter((each) => each !== last);
    last.controller.abort(new Error("taken back"));
    this.#editor.set(last.text);
  }

  #fromHistory(by: -1 | 1): void {
    const found = this.#host.history.go(by, this.#editor.text);
    if (found !== undefined) this.#editor.set(found);
    this.#popup = undefined;
  }

  #cancel(): void {
    if (this.#turnSince === undefined || this.#session === undefined) return;
    this.#client?.cancel(this.#session.sessionId);
    this.#note = "Cancelling \u2026";
  }

  /** Empties the text, or cancels the turn; a second one soon after leaves. */
  #interrupt(): void {
    const isSecond = performance.now() - this.#interruptedAt < TWICE;
    this.#interruptedAt = performance.now();
    this.#popup = undefined;
    if (!this.#editor.isEmpty) {
      this.#editor.set("");
      this.#interruptedAt = -Infinity;
    } else if (isSecond) this.leave();
    else {
      this.#cancel();
      this.#note = `${this.#note} Ctrl-C again leaves.`.trim();
    }
  }

  #nextMode(): void {
    const [, next] = this.#status.modes;
    if (next === undefined || this.#session === undefined) return;
    const set = this.#client?.setMode(this.#session.sessionId, next);
    this.#try(
      set?.then(() =>
        this.#status.update({ sessionUpdate: "current_mode_update", currentModeId: next }),
      ),
    );
  }

  #openLast(): void {
    const asked = this.#question?.whole;
    if (asked !== undefined) this.#host.screen.print([[], ...asked]);
    else if (!this.#transcript.open()) this.#note = "There is nothing to open.";
  }

  #listHistory(): void {
    const items = [...new Set(this.#host.history.all.toReversed())].map((value) => ({
      value,
      label: firstLine(value),
    }));
    this.#list = {
      picker: new Picker(items, "Earlier prompts"),
      choose: ({ value }) => this.#editor.set(value),
    };
  }

  #listSessions(): void {
    this.#try(
      this.#sessions().then((items) => {
        const picker = new Picker(items, "Sessions");
        this.#list = { picker, choose: ({ value }) => this.#switch(value) };
      }),
    );
  }

  async #sessions(): Promise<readonly PickerItem[]> {
    const own = await this.#host.sessions?.();
    return own ?? (await this.#client?.list())?.map(sessionItem) ?? [];
  }

  /** Goes to another session, or begins one. The one before goes on. */
  #switch(sessionId?: string): void {
    if (sessionId !== undefined && sessionId === this.#session?.sessionId) return;
    const from = this.#session;
    const open = async (): Promise<void> => {
      const wanted = await this.#host.wanted(sessionId);
      const folder = "cwd" in wanted ? wanted.cwd : this.#folder;
      this.#transcript.end();
      this.#transcript = this.#newTranscript();
      this.#opened = Promise.withResolvers();
      this.#host.screen.print([
        [],
        line(`\u2500\u2500 ${sessionId?.slice(0, 8) ?? "new session"}`, "dim"),
      ]);
      await this.#open(wanted, wanted.agent ?? "session", folder);
    };
    this.#try(
      open().catch((error: unknown) => {
        this.#session ??= from;
        throw error;
      }),
    );
  }

  /** Where the cursor is: the prompt, or the text of a form. */
  get #typing(): LineEditor {
    return this.#question?.editor ?? this.#editor;
  }

  #edit(): void {
    this.#away(async () => {
      const editor = this.#typing;
      const edited = await this.#host.edit(editor.text);
      editor.set(edited.replace(/\n+$/, ""));
    });
  }

  #pasteImage(): void {
    this.#try(
      this.#host.clipboardImage().then((path) => {
        if (path === undefined) this.#note = "There is no image to paste.";
        else this.#editor.insert(`@${path.replaceAll(" ", String.raw`\ `)} `);
      }),
    );
  }

  /** Another program has the terminal meanwhile. */
  #away(work: () => Promise<void>): void {
    this.#host.screen.clear();
    this.#isAway = true;
    this.#try(
      work().finally(() => {
        this.#isAway = false;
        this.back();
      }),
    );
  }

  /** Tells the person what failed. */
  #try(work: Promise<unknown> | undefined): void {
    background(
      work
        ?.catch((error: unknown) => {
          this.#transcript.note(`trunkline: ${(error as Error).message}`, "red");
        })
        .finally(() => this.draw()),
      "Doing what a person asked for",
    );
  }
}

const NOTHING: ReturnType<QuestionPrompt["rows"]> = { rows: [] };
const NO_KEY: Key = { name: "", text: "", ctrl: false, meta: false, shift: false };

function oursOf(meta: unknown): Json {
  const { trunkline } = (meta ?? {}) as { readonly trunkline?: Json };
  return trunkline ?? {};
}

function commandsOf({ availableCommands }: Json): PickerItem[] {
  const all = Array.isArray(availableCommands) ? (availableCommands as Json[]) : [];
  return all.map(({ name, description }) => ({
    value: `/${wordsOf(name)}`,
    hint: firstLine(wordsOf(description)),
  }));
}

/** A session of the gateway. */
function sessionItem({ sessionId, title, cwd }: Json): PickerItem {
  const label = firstLine(wordsOf(title) || "(no prompt yet)").slice(0, 60);
  return { value: wordsOf(sessionId), label, hint: wordsOf(cwd) };
}

function pendingLine({ text, how }: PendingMessage): Line {
  const says = how === "steer" ? "\u21b3 " : "\u21b3 queued: ";
  return [span(says, "yellow"), span(firstLine(text), "dim"), span("  (Up takes it back)", "dim")];
}
