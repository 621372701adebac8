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
export function terminalInput({ input, out, key, paste, back, end }: TerminalInputOptions) {
  let pasted: string[] | undefined;
  // The keys of this chunk came at once: a paste in a terminal that does not mark it.
  let isBurst = false;
  let isOurs = false;
  let isStopped = false;
  let pasteEnd: NodeJS.Timeout | undefined;
  // Registered before readline's listener, so that it sees each chunk first.
  input.on("data", look);
  // Node's types have an interface of readline here, of which only this member is used.
  emitKeypressEvents(input, { escapeCodeTimeout: ESCAPE_DELAY } as never);
  input.on("keypress", press);
  input.on("end", end);
  input.on("error", end);
  process.on("SIGCONT", continued);
  take();

  /** Takes the terminal. */
  function take(): void {
    isOurs = true;
    input.setRawMode(true);
    input.resume();
    out(PASTE_ON);
  }

  /** Gives the terminal to another program. */
  function give(): void {
    isOurs = false;
    pasted = undefined;
    out(PASTE_OFF);
    input.setRawMode(false);
    input.pause();
  }

  /** Ctrl-Z: stops the process, as a shell expects. `back` is called when it goes on. */
  function stop(): void {
    give();
    isStopped = true;
    process.kill(process.pid, "SIGTSTP");
  }

  function continued(): void {
    // An editor has the terminal.
    if (!isOurs && !isStopped) return;
    isStopped = false;
    // The shell has set its own mode meanwhile, even where the process was stopped by another.
    if (isOurs) input.setRawMode(false);
    take();
    back();
  }

  function look(chunk: Buffer): void {
    if (!isOurs) return;
    const text = chunk.toString("latin1");
    const enter = text.indexOf("\r");
    if (pasted !== undefined) pasteEnd?.refresh();
    isBurst = !text.startsWith(ESCAPE) && enter >= 0 && enter < text.length - 1;
  }

  /** Control characters are left out: they are no text. */
  function endPaste(): void {
    clearTimeout(pasteEnd);
    const text = (pasted ?? []).join("").replaceAll(/\r\n?/g, "\n");
    pasted = undefined;
    paste(text.replaceAll(/(?![\n\t])\p{Cc}/gu, ""));
  }

  function press(_: unknown, pressed: NodeKey): void {
    // A question of another part of this process has the terminal.
    if (!isOurs) return;
    const { name = "", sequence = "", ctrl = false, meta = false, shift = false } = pressed;
    if (name === "paste-start") {
      pasted = [];
      // If the end of the paste gets lost, keys must work again.
      pasteEnd = setTimeout(() => endPaste(), PASTE_PAUSE);
    } else if (name === "paste-end") endPaste();
    else if (pasted !== undefined) pasted.push(sequence);
    else if (isBurst && name === "return") paste("\n");
    else if (SHIFT_ENTER.has(sequence)) key(NEW_LINE);
    else {
      const isText = !ctrl && !meta && /^[^\p{Cc}]+$/u.test(sequence);
      key({ name, text: isText ? sequence : "", ctrl, meta, shift });
    }
  }

  return {
    ...{ take, give, stop },
    [Symbol.dispose]: (): void => {
      if (isOurs) give();
      clearTimeout(pasteEnd);
      input.off("end", end);
      input.off("error", end);
      input.off("data", look);
      input.off("keypress", press);
      process.off("SIGCONT", continued);
    },
  };
}

const NEW_LINE: Key = { name: "return", text: "", ctrl: false, meta: true, shift: false };
