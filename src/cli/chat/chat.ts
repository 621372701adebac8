import { createInterface, type Interface } from "node:readline";
import { Writable } from "node:stream";
import { text as readAll } from "node:stream/consumers";

import { atMost } from "../../base/abort.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { type Attached, attachTo, type Ended, type Wanted } from "../../protocol/acp/attach.ts";
import type { Workplace, WorktreeRequest } from "../../session/workplace.ts";
import { offerAgent } from "../agent/offer-agents.ts";
import { findSession, openChannel } from "../session/attach.ts";
import { askingWith, permitting, Questions } from "../session/questions.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { readGatewayUrl } from "../shell/gateway-url.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { ERASE_LINE, paint } from "../shell/layout.ts";
import { ConversationText } from "../session/conversation-text.ts";

type ChatValues = OptionValues<"session" | "agent" | "branch" | "url", "worktree" | "yes">;

/** `trunkline chat [PROMPT]` */
export async function chat(invocation: Invocation<ChatValues>): Promise<number> {
  const { values, positionals, isTerminal } = invocation;
  const given = positionals.join(" ");
  if (values.session !== undefined && values.agent !== undefined) {
    const says = "a session keeps the agent that it began with";
    throw new TrunklineError("usage", `Cannot use --agent with --session: ${says}.`);
  }
  const isOwn = values.worktree === true || values.branch !== undefined;
  if (values.session !== undefined && isOwn) {
    const says = "a session keeps the folder that it began with";
    throw new TrunklineError("usage", `Cannot use --worktree with --session: ${says}.`);
  }
  const isPerson = process.stdin.isTTY && isTerminal && values.json !== true;
  if (given === "" && isPerson) return converse(invocation);
  if (given === "" && process.stdin.isTTY) {
    const why = "there is no terminal to talk at";
    throw new TrunklineError("usage", `Cannot start a conversation: ${why}. Give a PROMPT.`);
  }
  const prompt = given === "" ? (await readAll(process.stdin)).trim() : given;
  if (prompt === "") throw new TrunklineError("usage", "Cannot ask: the prompt is empty.");
  await using opened = new AsyncDisposableStack();
  return await once(invocation, prompt, opened);
}

/** One turn: the answer goes to standard output; on a terminal, everything else does too. */
async function once(
  invocation: Invocation<ChatValues>,
  prompt: string,
  opened: AsyncDisposableStack,
): Promise<number> {
  const { values, out, err, data, color, isTerminal } = invocation;
  const isJson = values.json === true;
  const text = new ConversationText(color && isTerminal, true);
  const answer: string[] = [];
  const screen = new Screen({ ...screenOf(invocation), isTerminal: isTerminal && !isJson });
  let isReplay = true;
  const { session, status } = await openChat(invocation, opened, {
    update: (update) => {
      if (isReplay) return;
      const isAnswer = update.sessionUpdate === "agent_message_chunk";
      if (isTerminal && !isJson) screen.print(text.update(update));
      else if (!isAnswer) err(text.update(update));
      else {
        const { text: said = "" } = (update.content ?? {}) as { text?: string };
        answer.push(said);
        if (!isJson) out(said);
      }
    },
    permit: permitting(
      {
        isYes: values.yes === true,
        isSilent: isJson,
        out: (question) => screen.print(question),
        err: (words) => (isTerminal ? screen.print(words) : err(words)),
      },
      opened,
    ),
  });
  isReplay = false;
  background(
    untilSignal().then(() => session.cancel()),
    "Cancelling a turn",
  );
  const started = performance.now();
  const shows = setInterval(() => {
    screen.status(status.text(performance.now() - started, text.running));
  }, 500);
  opened.defer(() => clearInterval(shows));
  const ended = await withLoss(session, session.prompt(prompt));
  clearInterval(shows);
  screen.print(text.end());
  if (isJson) data(`${JSON.stringify(resultOf(session, ended, answer.join("")), null, 2)}\n`);
  else if (!isTerminal && answer.at(-1)?.endsWith("\n") === false) out("\n");
  if (ended.stopReason === "end_turn") return 0;
  err(`The turn ended early (${ended.stopReason}).\n`);
  return 1;
}

interface ChatListener {
  readonly update: (update: Readonly<Record<string, unknown>>) => void;
  readonly permit: Parameters<typeof attachTo>[2]["permit"];
}

/** Opens the session that the command names, or a new one. */
async function openChat(
  invocation: Invocation<ChatValues>,
  opened: AsyncDisposableStack,
  { update, permit }: ChatListener,
): Promise<{ readonly session: Attached; readonly status: Status }> {
  const { values, cwd, env, err } = invocation;
  const { url, warning } = values.url === undefined ? {} : readGatewayUrl(values.url);
  if (warning !== undefined) err(`${warning}\n`);
  let app = await openQuietApp(invocation);
  const isLocal = values.session === undefined && url === undefined;
  const added = isLocal ? await offerAgent(invocation, app, values.agent) : undefined;
  if (added !== undefined) app = await openQuietApp(invocation);
  const wanted: Wanted & { readonly agent?: string | undefined } =
    values.session === undefined
      ? { cwd, agent: added ?? values.agent, worktree: worktreeOf(values) }
      : await findSession(app, values.session, url !== undefined, cwd);
  const channel = await openChannel(app, opened, url, env);
  const isNew = !("sessionId" in wanted);
  const status = new Status(wanted.agent ?? (isNew ? app.config.agent.name : "session"));
  const session = await attachTo(channel, wanted, {
    permit,
    queued: (message) => err(`${message}\n`),
    update: (each) => {
      status.update(each);
      update(each);
    },
  });
  opened.use(session);
  status.opened(session.settings);
  if (isNew) for (const line of worktreeLines(session)) err(`${line}\n`);
  return { session, status };
}

function worktreeOf({ worktree, branch }: ChatValues): WorktreeRequest | true | undefined {
  return branch === undefined ? worktree || undefined : { branch };
}

/** Where a session with a work tree works, and what is missing there. */
function worktreeLines({ settings }: Attached): string[] {
  type Meta = { readonly trunkline?: { readonly worktree?: Workplace } };
  const { _meta } = (settings ?? {}) as { readonly _meta?: Meta };
  if (_meta?.trunkline?.worktree === undefined) return [];
  const { folder, branch, warnings } = _meta.trunkline.worktree;
  return [`Works on the branch ${branch} in ${folder}`, ...warnings].map((line) =>
    visibleLine(line),
  );
}

function screenOf({ out, color, isTerminal, width }: Invocation<ChatValues>) {
  return { out, color, isTerminal, width: () => process.stdout.columns ?? width };
}

/** Resolves when the turn ends; rejects if the connection is lost. */
async function withLoss(session: Pick<Attached, "ended">, turn: Promise<Ended>): Promise<Ended> {
  const lost = session.ended.then((): never => {
    throw new TrunklineError("closed", "The connection was closed. The session is stored.");
  });
  return Promise.race([turn, lost]);
}

function resultOf({ sessionId }: Attached, { stopReason, usage }: Ended, answer: string): object {
  return { session: sessionId, stopReason, answer, ...(usage ? { usage } : {}) };
}

/** Lines of an earlier conversation that are shown. */
const REPLAYED = 100;
/** Milliseconds in which a second Ctrl-C leaves. */
const TWICE = 2_000;
/** Milliseconds that a cancelled turn may take to end when the person leaves. */
const FAREWELL = 2_000;
const TICK = 500;

/** A conversation at a terminal: every line is a prompt, or the answer to a question. */
async function converse(invocation: Invocation<ChatValues>): Promise<number> {
  const { color } = invocation;
  const screen = new Screen(screenOf(invocation));
  const text = new ConversationText(color, true);
  const questions = new Questions((question) => screen.print(question));
  await using opened = new AsyncDisposableStack();
  let replay: string[] | undefined = [];
  const { session, status } = await openChat(invocation, opened, {
    update: (update) => {
      const shown = text.update(update);
      if (replay === undefined) screen.print(shown);
      else replay.push(shown);
    },
    permit: askingWith(questions),
  });
  const earlier = replay.join("") + text.end();
  replay = undefined;
  screen.print(lastLines(earlier, session.sessionId));
  const help = "Ctrl-C cancels a turn, Ctrl-D leaves, /help shows what the agent can do.";
  screen.print(`${paint("dim", help, color)}\n`);
  const conversation = new Conversation({ session, status, screen, text, questions, color });
  using keyboard = new Keyboard({
    input: process.stdin,
    output: process.stdout,
    line: (line) => conversation.line(line),
    digit: (digit) => conversation.digit(digit),
    interrupt: () => conversation.interrupt(),
    end: () => conversation.leave(),
  });
  conversation.begin(keyboard);
  background(
    untilSignal().then(() => conversation.leave()),
    "Leaving a conversation",
  );
  await Promise.race([conversation.left, session.ended]);
  keyboard.hide();
  await conversation.farewell();
  const id = session.sessionId.slice(0, 8);
  screen.print(`\nContinue with \`trunkline chat --session ${id}\`.\n`);
  return 0;
}

interface ConversationParts {
  readonly session: Pick<Attached, "prompt" | "cancel" | "ended" | "sessionId">;
  readonly status: Pick<Status, "text">;
  readonly screen: Screen;
  readonly text: Pick<ConversationText, "end" | "running">;
  readonly questions: Questions;
  readonly color: boolean;
}

/** What happens when a person types: prompts, answers, and the ways to stop. */
export class Conversation {
  readonly #parts: ConversationParts;
  readonly #left = Promise.withResolvers<void>();
  readonly #turns = new Set<Promise<void>>();
  #keyboard: Pick<Keyboard, "prompt" | "hide"> | undefined;
  #interruptedAt = -Infinity;
  #isLeaving = false;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
  }

  /** Resolves when the person has left. */
  get left(): Promise<void> {
    return this.#left.promise;
  }

  begin(keyboard: Pick<Keyboard, "prompt" | "hide">): void {
    this.#keyboard = keyboard;
    keyboard.prompt();
  }

  line(line: string): void {
    const { questions, session, screen } = this.#parts;
    const said = line.trim();
    if (questions.isOpen) {
      if (said !== "") questions.answer(line);
    } else if (said === "/exit" || said === "/quit") this.leave();
    else if (said === "/cancel") session.cancel();
    else if (said !== "") {
      if (this.#turns.size > 0) screen.print(`> ${visibleLine(said)} (queued)\n`);
      const turn = this.#turn(line).finally(() => {
        this.#turns.delete(turn);
        if (this.#turns.size === 0 && !this.#isLeaving) this.#keyboard?.prompt();
      });
      this.#turns.add(turn);
      return;
    }
    if (this.#turns.size === 0 && !this.#isLeaving) this.#keyboard?.prompt();
  }

  /** A question with few options is answered by one key. */
  digit(digit: string): boolean {
    const { questions } = this.#parts;
    if (!questions.isOpen || questions.choices > 9) return false;
    questions.answer(digit);
    return true;
  }

  /** The first one cancels the turn, a second one soon after leaves. */
  interrupt(): void {
    const { session, screen } = this.#parts;
    const isSecond = performance.now() - this.#interruptedAt < TWICE;
    this.#interruptedAt = performance.now();
    if (isSecond) this.leave();
    else if (this.#turns.size > 0) {
      session.cancel();
      screen.print("\n(cancelling; Ctrl-C again leaves)\n");
    } else {
      screen.print("\n(Ctrl-C again leaves)\n");
      this.#keyboard?.prompt();
    }
  }

  leave(): void {
    this.#isLeaving = true;
    this.#left.resolve();
  }

  /** Cancels what runs, and gives it a moment to end. */
  async farewell(): Promise<void> {
    this.#isLeaving = true;
    if (this.#turns.size === 0) return;
    this.#parts.session.cancel();
    await atMost(FAREWELL, Promise.all(this.#turns));
  }

  async #turn(line: string): Promise<void> {
    const { session, status, screen, text, questions, color } = this.#parts;
    this.#keyboard?.hide();
    const started = performance.now();
    const state = (running?: string): string => status.text(performance.now() - started, running);
    const ticks = setInterval(() => {
      if (!questions.isOpen) screen.status(state(text.running));
    }, TICK);
    try {
      const { stopReason } = await withLoss(session, session.prompt(line));
      screen.print(text.end());
      if (stopReason !== "end_turn") screen.print(`(${stopReason})\n`);
      screen.print(`${paint("dim", state(), color)}\n`);
    } catch (error) {
      screen.print(text.end());
      if (!this.#isLeaving) screen.print(`trunkline: ${(error as Error).message}\n`);
    } finally {
      clearInterval(ticks);
    }
  }
}

/** The end of an earlier conversation, and how to read the rest. */
function lastLines(text: string, id: string): string {
  const lines = text.split("\n");
  if (lines.length <= REPLAYED) return text;
  const rest = `… the beginning: \`trunkline session replay ${id.slice(0, 8)}\`\n`;
  return rest + lines.slice(-REPLAYED).join("\n");
}

interface ScreenOptions {
  readonly out: (text: string) => void;
  /** Whether there is a status line. */
  readonly isTerminal: boolean;
  readonly color: boolean;
  readonly width: () => number;
}

/** Prints text with a status line below it. The status line is erased before the next text. */
export class Screen {
  readonly #options: ScreenOptions;
  #isAtStart = true;
  #isStatusShown = false;

  constructor(options: ScreenOptions) {
    this.#options = options;
  }

  print(text: string): void {
    if (text === "") return;
    this.clearStatus();
    this.#isAtStart = text.endsWith("\n");
    this.#options.out(text);
  }

  /** Shows the status, unless a line is being written. */
  status(text: string): void {
    const { out, isTerminal, color, width } = this.#options;
    if (!isTerminal || !this.#isAtStart) return;
    // One column stays free: some terminals begin a new line when the last one is filled.
    const cut = Array.from(text)
      .slice(0, Math.max(0, width() - 1))
      .join("");
    out(`${this.#isStatusShown ? ERASE_LINE : ""}${paint("dim", cut, color)}`);
    this.#isStatusShown = true;
  }

  clearStatus(): void {
    if (!this.#isStatusShown) return;
    this.#isStatusShown = false;
    this.#options.out(ERASE_LINE);
  }
}

type Json = Readonly<Record<string, unknown>>;

/** The content of the status line: the agent, its model, the used context, and the time. */
export class Status {
  readonly #agent: string;
  #model: string | undefined;
  #context: { readonly used: number; readonly size: number } | undefined;

  constructor(agent: string) {
    this.#agent = agent;
  }

  opened(settings: Attached["settings"]): void {
    const { models, configOptions } = settings ?? {};
    const current = models?.currentModelId;
    if (typeof current === "string") this.#model = current;
    this.#options(configOptions);
  }

  update(update: Json): void {
    const { sessionUpdate, used, size, configOptions } = update;
    if (sessionUpdate === "config_option_update") this.#options(configOptions);
    if (sessionUpdate !== "usage_update") return;
    if (typeof used === "number" && typeof size === "number") this.#context = { used, size };
  }

  /** The line; `milliseconds` is the time of the turn. */
  text(milliseconds: number, running?: string): string {
    const context = this.#context;
    const parts = [
      this.#agent,
      this.#model,
      context && contextText(context),
      seconds(milliseconds),
    ];
    if (running !== undefined) parts.push(running);
    return parts
      .filter((part) => part !== undefined)
      .map(visibleLine)
      .join(" · ");
  }

  #options(options: unknown): void {
    const all = Array.isArray(options) ? (options as Json[]) : [];
    const model = all.find(({ category }) => category === "model")?.currentValue;
    if (typeof model === "string") this.#model = model;
  }
}

function contextText({ used, size }: { used: number; size: number }): string {
  const share = size > 0 ? ` (${Math.round((used / size) * 100)} %)` : "";
  return `${thousands(used)} of ${thousands(size)} tokens${share}`;
}

function thousands(count: number): string {
  return count < 1000 ? String(count) : `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
}

function seconds(milliseconds: number): string {
  const all = Math.floor(milliseconds / 1000);
  return all < 60 ? `${all} s` : `${Math.floor(all / 60)} min ${all % 60} s`;
}

interface KeyboardOptions {
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream & { readonly columns?: number };
  readonly line: (line: string) => void;
  /** A digit was pressed where nothing else was typed. Returns whether it was used. */
  readonly digit: (digit: string) => boolean;
  /** Ctrl-C, where no line is typed. */
  readonly interrupt: () => void;
  /** Ctrl-D, or the end of the input. */
  readonly end: () => void;
}

/** Lines that a person types, with editing and history. What is typed ahead is not shown. */
export class Keyboard implements Disposable {
  readonly #lines: Interface;
  readonly #output: EchoOutput;
  /** A dumb terminal cannot erase: readline echoes what is typed, and has no editing keys. */
  readonly #isDumb = process.env.TERM === "dumb";

  constructor({ input, output, line, digit, interrupt, end }: KeyboardOptions) {
    this.#output = new EchoOutput(output);
    const lines = createInterface({
      input,
      output: this.#output,
      terminal: true,
      prompt: "> ",
      historySize: 200,
    });
    this.#lines = lines;
    lines.on("line", line);
    lines.on("close", end);
    lines.on("SIGINT", () => {
      if (lines.line === "" || !this.#output.isShown) interrupt();
      else this.#erase();
    });
    // Ctrl-Z stops the process. When it goes on, readline has paused the input.
    lines.on("SIGCONT", () => {
      if (this.#output.isShown) this.prompt();
      else lines.resume();
    });
    // Readline has put the digit into the line when this is called.
    input.on("keypress", (text: unknown) => {
      if (typeof text !== "string" || !/^[1-9]$/.test(text) || lines.line !== text) return;
      if (digit(text)) this.#erase();
    });
  }

  /** Shows the prompt, with what was typed ahead. */
  prompt(): void {
    this.#output.isShown = true;
    this.#lines.prompt(true);
    if (this.#isDumb) this.#output.write(this.#lines.line);
  }

  /** Hides what is typed. */
  hide(): void {
    this.#output.isShown = false;
  }

  [Symbol.dispose](): void {
    this.hide();
    this.#lines.close();
  }

  /** Empties the line that is typed. */
  #erase(): void {
    Object.assign(this.#lines, { line: "", cursor: 0 });
    if (!this.#output.isShown) return;
    if (this.#isDumb) this.#output.write("\n");
    this.prompt();
  }
}

/** Passes readline's output on to the terminal while typed text is shown. */
class EchoOutput extends Writable {
  isShown = false;
  readonly #output: KeyboardOptions["output"];

  constructor(output: KeyboardOptions["output"]) {
    super();
    this.#output = output;
  }

  /** Readline wraps long lines by it. */
  get columns(): number {
    return this.#output.columns ?? 80;
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    if (this.isShown) this.#output.write(chunk);
    done();
  }
}
