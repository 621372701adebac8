import { emitKeypressEvents, type Key as NodeKey } from "node:readline";

import { control, ESCAPE } from "../shell/layout.ts";

/** A key, by Node's name for it. */
export interface Key {
  readonly name: string;
  /** The text that it types; empty if it types none. */
  readonly text: string;
  readonly ctrl: boolean;
  readonly meta: boolean;
  readonly shift: boolean;
}

interface TerminalInputOptions {
  readonly input: NodeJS.ReadStream;
  readonly out: (text: string) => void;
  readonly key: (key: Key) => void;
  readonly paste: (text: string) => void;
  /** The terminal is ours again, after the process was stopped. */
  readonly back: () => void;
  /** There is no terminal any more. */
  readonly end: () => void;
}

/** Milliseconds after which an escape is the key, and not the beginning of another one. */
const ESCAPE_DELAY = 50;
/** Milliseconds without a part of a paste after which it is over. */
const PASTE_PAUSE = 2_000;
/** XTerm Control Sequences § Bracketed Paste Mode. */
const PASTE_ON = control("?2004h");
const PASTE_OFF = control("?2004l");
/** Shift-Enter, as terminals write it that tell it from Enter. */
const SHIFT_ENTER = new Set([`${ESCAPE}[13;2u`, `${ESCAPE}[27;2;13~`]);

/** The keys of a terminal in raw mode, with pasted text as one. */
export class TerminalInput implements Disposable {
  readonly #options: TerminalInputOptions;
  #pasted: string[] | undefined;
  /** The keys of this chunk came at once: a paste in a terminal that does not mark it. */
  #isBurst = false;
  #isOurs = false;
  #isStopped = false;
  #pasteEnd: NodeJS.Timeout | undefined;

  constructor(options: TerminalInputOptions) {
    this.#options = options;
    const { input } = options;
    // Registered before readline's listener, so that it sees each chunk first.
    input.on("data", this.#look);
    // Node's types have an interface of readline here, of which only this member is used.
    emitKeypressEvents(input, { escapeCodeTimeout: ESCAPE_DELAY } as never);
    input.on("keypress", this.#press);
    input.on("end", options.end);
    input.on("error", options.end);
    process.on("SIGCONT", this.#continued);
    this.take();
  }

  /** Takes the terminal. */
  take(): void {
    const { input, out } = this.#options;
    this.#isOurs = true;
    input.setRawMode(true);
    input.resume();
    out(PASTE_ON);
  }

  /** Gives the terminal to another program. */
  give(): void {
    const { input, out } = this.#options;
    this.#isOurs = false;
    this.#pasted = undefined;
    out(PASTE_OFF);
    input.setRawMode(false);
    input.pause();
  }

  /** Ctrl-Z: stops the process, as a shell expects. `back` is called when it goes on. */
  stop(): void {
    this.give();
    this.#isStopped = true;
    process.kill(process.pid, "SIGTSTP");
  }

  [Symbol.dispose](): void {
    const { input } = this.#options;
    if (this.#isOurs) this.give();
    clearTimeout(this.#pasteEnd);
    input.off("end", this.#options.end);
    input.off("error", this.#options.end);
    input.off("data", this.#look);
    input.off("keypress", this.#press);
    process.off("SIGCONT", this.#continued);
  }

  readonly #continued = (): void => {
    // An editor has the terminal.
    if (!this.#isOurs && !this.#isStopped) return;
    this.#isStopped = false;
    // The shell has set its own mode meanwhile, even where the process was stopped by another.
    if (this.#isOurs) this.#options.input.setRawMode(false);
    this.take();
    this.#options.back();
  };

  readonly #look = (chunk: Buffer): void => {
    if (!this.#isOurs) return;
    const text = chunk.toString("latin1");
    const enter = text.indexOf("\r");
    if (this.#pasted !== undefined) this.#pasteEnd?.refresh();
    this.#isBurst = !text.startsWith(ESCAPE) && enter >= 0 && enter < text.length - 1;
  };

  /** Control characters are left out: they are no text. */
  #endPaste(): void {
    clearTimeout(this.#pasteEnd);
    const text = (this.#pasted ?? []).join("").replaceAll(/\r\n?/g, "\n");
    this.#pasted = undefined;
    this.#options.paste(text.replaceAll(/(?![\n\t])\p{Cc}/gu, ""));
  }

  readonly #press = (_: unknown, key: NodeKey): void => {
    // A question of another part of this process has the terminal.
    if (!this.#isOurs) return;
    const { name = "", sequence = "", ctrl = false, meta = false, shift = false } = key;
    if (name === "paste-start") {
      this.#pasted = [];
      // If the end of the paste gets lost, keys must work again.
      this.#pasteEnd = setTimeout(() => this.#endPaste(), PASTE_PAUSE);
    } else if (name === "paste-end") this.#endPaste();
    else if (this.#pasted !== undefined) this.#pasted.push(sequence);
    else if (this.#isBurst && name === "return") this.#options.paste("\n");
    else if (SHIFT_ENTER.has(sequence)) this.#options.key(NEW_LINE);
    else {
      const isText = !ctrl && !meta && /^[^\p{Cc}]+$/u.test(sequence);
      this.#options.key({ name, text: isText ? sequence : "", ctrl, meta, shift });
    }
  };
}

const NEW_LINE: Key = { name: "return", text: "", ctrl: false, meta: true, shift: false };
