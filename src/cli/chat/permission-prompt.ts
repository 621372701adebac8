import type { AttachOptions } from "../../protocol/acp/attach.ts";
import { firstLine } from "../shell/layout.ts";
import { type Line, line, span, wrapLine } from "../transcript/styled-line.ts";
import type { Key } from "./terminal-input.ts";
import {
  changedCall,
  firstLines,
  indented,
  type ToolCall,
  wholeCall,
} from "../transcript/tool-content.ts";

type Permit = AttachOptions["permit"];
type Params = Parameters<Permit>[0];
type Option = Params["options"][number];

interface Choice {
  readonly key: string;
  readonly option: Option;
}

interface Question {
  readonly call: ToolCall;
  /** Everything that it wants to do. */
  readonly content: readonly Line[];
  readonly choices: readonly Choice[];
  /** Why the answer of this person does not count. */
  readonly why: string | undefined;
  readonly settle: (optionId: string | undefined) => void;
}

/** Milliseconds without a key, after which one may be an answer. */
const QUIET = 500;
/** Milliseconds in which another key says that the one before was the beginning of a text. */
const ALONE = 300;

/** The dashboard's keys, for the first option of each kind. */
const KEYS: Readonly<Record<string, string>> = {
  allow_once: "y",
  reject_once: "n",
  allow_always: "a",
  reject_always: "x",
};

/**
 * What the agent asks for permission. A key is an answer only if it cannot have been meant for the text:
 * after Tab, or where nothing is typed, no key came in the half second before, and none follows at once.
 * Enter is never an answer.
 */
export class PermissionPrompt {
  readonly #changed: () => void;
  readonly #now: () => number;
  readonly #open: Question[] = [];
  #isFocused = false;
  #lastKey = -Infinity;
  #held: { readonly key: Key; readonly timer: NodeJS.Timeout } | undefined;

  constructor(changed: () => void, now = (): number => performance.now()) {
    this.#changed = changed;
    this.#now = now;
  }

  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** Keys go to the question. */
  get isFocused(): boolean {
    return this.#isFocused;
  }

  /** All that is asked for. */
  get whole(): readonly Line[] | undefined {
    const [question] = this.#open;
    return question && [line(firstLine(question.call.title), "bold"), ...question.content];
  }

  readonly ask: Permit = (params, signal) => {
    const { promise, resolve } = Promise.withResolvers<string | undefined>();
    const { why } = (params._meta?.trunkline ?? {}) as { readonly why?: unknown };
    const call = changedCall(undefined, params.toolCall);
    const question: Question = {
      call,
      content: wholeCall(call),
      choices: choicesOf(params.options),
      why: typeof why === "string" ? why : undefined,
      settle: resolve,
    };
    this.#open.push(question);
    // Keys that were typed before the question was seen are no answer to it.
    if (this.#open.length === 1) this.#appear();
    signal.addEventListener("abort", () => this.#end(question, undefined), { once: true });
    this.#changed();
    return promise;
  };

  /**
   * Offers a key to the question. "held": it may be an answer, and `late` is called with it if it is
   * not. "used": it was for the question. "text": it is not for the question.
   */
  press(key: Key, isLineEmpty: boolean, late: (key: Key) => void): "used" | "held" | "text" {
    const now = this.#now();
    const isQuiet = now - this.#lastKey >= QUIET;
    this.#lastKey = now;
    if (this.#held !== undefined) {
      clearTimeout(this.#held.timer);
      const { key: first } = this.#held;
      this.#held = undefined;
      late(first);
      return "text";
    }
    const [question] = this.#open;
    if (question === undefined) return "text";
    if (key.name === "tab" || (this.#isFocused && key.name === "escape")) {
      this.#isFocused = !this.#isFocused;
      return "used";
    }
    const choice = question.choices.find(({ key: name }) => name === key.text);
    if (this.#isFocused) {
      if (choice !== undefined) this.#end(question, choice.option.optionId);
      // Control keys still work, such as Ctrl-C and Ctrl-O.
      return key.ctrl ? "text" : "used";
    }
    if (choice === undefined || !isLineEmpty || !isQuiet) return "text";
    const timer = setTimeout(() => {
      this.#held = undefined;
      this.#end(question, choice.option.optionId);
    }, ALONE);
    this.#held = { key, timer };
    return "held";
  }

  rows(width: number, most: number): Line[] {
    const [question] = this.#open;
    if (question === undefined) return [];
    const { call, content, choices, why } = question;
    const head = [span("? ", "yellow", "bold"), span(firstLine(call.title), "bold")];
    const options = choices.flatMap(({ key, option }) =>
      wrapLine([span(`  ${key} `, "cyan", "bold"), span(nameOf(option, call))], width, [
        span("    "),
      ]),
    );
    const how = why ?? this.#how();
    const more = this.#open.length > 1 ? ` \u00b7 ${this.#open.length - 1} more after this` : "";
    const foot = wrapLine(line(`  ${how}${more}`, "dim"), width, [span("  ")]);
    const room = Math.max(3, most - options.length - foot.length - 1);
    const shown = indented(firstLines(content, room, ": Ctrl-O prints all"));
    return [...wrapLine(head, width, [span("  ")]), ...shown, ...options, ...foot];
  }

  #how(): string {
    if (this.#isFocused) return "Press a key to answer. Tab goes back to the text.";
    return "Press a key to answer; where you have typed text, Tab first.";
  }

  #appear(): void {
    this.#lastKey = Math.max(this.#lastKey, this.#now());
    this.#isFocused = false;
  }

  #end(question: Question, optionId: string | undefined): void {
    const at = this.#open.indexOf(question);
    if (at < 0) return;
    // An answer that does not count is not sent.
    if (optionId !== undefined && question.why !== undefined) return;
    if (at === 0) clearTimeout(this.#held?.timer);
    if (at === 0) this.#held = undefined;
    this.#open.splice(at, 1);
    question.settle(optionId);
    if (at === 0) this.#appear();
    this.#changed();
  }
}

function choicesOf(options: readonly Option[]): Choice[] {
  const used = new Set<string>();
  return options.map((option, at) => {
    const own = KEYS[option.kind] ?? "";
    const key = own === "" || used.has(own) ? String(at + 1) : own;
    used.add(key);
    return { key, option };
  });
}

/** Some agents say only "Always allow": then it is told what was asked, and who decides. */
function nameOf({ kind, name }: Option, { title }: ToolCall): string {
  if (!kind.endsWith("_always") || name.trim().split(/\s+/).length > 3) return name;
  return `${name} \u2013 for calls like "${firstLine(title).slice(0, 80)}"; the agent decides which those are`;
}
