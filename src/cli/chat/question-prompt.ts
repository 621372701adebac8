import type { AttachOptions } from "../../protocol/acp/attach.ts";
import { DECLINED } from "../session/form-content.ts";
import { keysOf } from "../session/questions.ts";
import { firstLine } from "../shell/layout.ts";
import { type Line, line, linesOf, span, wrapLine } from "../transcript/styled-line.ts";
import { formEditor, type FormEditor } from "./form-editor.ts";
import type { LineEditor } from "./line-editor.ts";
import type { Caret } from "./live-screen.ts";
import type { Key } from "./terminal-input.ts";
import {
  changedCall,
  firstLines,
  indentLines,
  type ToolCall,
  wholeCall,
  wordsOf,
} from "../transcript/tool-content.ts";

type PermitHandler = AttachOptions["permit"];
type ElicitHandler = NonNullable<AttachOptions["elicit"]>;
type Option = Parameters<PermitHandler>[0]["options"][number];

/** An answer by one key. */
interface Choice {
  readonly key: string;
  readonly says: string;
  readonly take: () => void;
}

interface Question {
  readonly title: string;
  /** Everything that is asked, but for the title. */
  readonly content: readonly Line[];
  readonly choices: readonly Choice[];
  /** What keys go to once the person has moved to it. */
  readonly form?: FormEditor | undefined;
  /** Why the answer of this person does not count. */
  readonly why?: string | undefined;
  /** It has no answer here. */
  readonly leave: () => void;
}

/** Milliseconds without a key after which the next key may be an answer. */
const QUIET = 500;
/** Milliseconds in which a second key shows that the first was the beginning of a text. */
const ALONE = 300;

/**
 * What the agent asks: a permission, a form, or to visit a page. A key is an answer only if it cannot have been
 * meant for the prompt: after Tab; or if the prompt is empty, no key came in the half second before, and none
 * follows at once. Enter answers only a form that the person has moved to.
 */
export class QuestionPrompt {
  readonly #changed: () => void;
  readonly #now: () => number;
  readonly #open: Question[] = [];
  /** Keys go to the question. */
  isFocused = false;
  #lastKey = -Infinity;
  #held: { readonly key: Key; readonly timer: NodeJS.Timeout } | undefined;

  constructor(changed: () => void, now = (): number => performance.now()) {
    this.#changed = changed;
    this.#now = now;
  }

  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** The text that the person fills in. */
  get editor(): LineEditor | undefined {
    return this.isFocused ? this.#open[0]?.form?.editor : undefined;
  }

  /** All that is asked for. */
  get whole(): readonly Line[] | undefined {
    const [question] = this.#open;
    return question && [line(firstLine(question.title), "bold"), ...question.content];
  }

  readonly permit: PermitHandler = ({ toolCall, options, _meta }, signal) => {
    const { why } = (_meta?.trunkline ?? {}) as { readonly why?: unknown };
    const call = changedCall(undefined, toolCall);
    return this.#ask(signal, (settle: (optionId: string | undefined) => void) => ({
      title: call.title,
      content: wholeCall(call),
      choices: choicesOf(options, call, settle),
      why: typeof why === "string" ? why : undefined,
      leave: () => settle(undefined),
    }));
  };

  readonly elicit: ElicitHandler = ({ mode, message, url, requestedSchema }, signal) =>
    this.#ask(signal, (settle: (answer: object | undefined) => void) => {
      const [title = [], ...more] = linesOf(message.trim());
      const decline = { key: "x", says: "Do not answer", take: () => settle(DECLINED) };
      const asked = {
        title: title.map(({ text }) => text).join(""),
        leave: () => settle(undefined),
      };
      if (mode === "url") {
        const go = { key: "y", says: "Go on: the page was visited", take: () => settle(ACCEPTED) };
        return { ...asked, content: [...more, line(wordsOf(url), "cyan")], choices: [go, decline] };
      }
      const form = formEditor(requestedSchema, settle, this.#changed);
      const quick = form.quick.slice(0, 9).map(({ title: says, take }, at) => {
        return { key: String(at + 1), says, take };
      });
      return { ...asked, content: more, choices: [...quick, decline], form };
    });

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
    if (key.name === "tab" || (this.isFocused && key.name === "escape")) {
      this.isFocused = !this.isFocused;
      return "used";
    }
    const choice = question.choices.find(({ key: name }) => name === key.text);
    if (this.isFocused) {
      if (question.form?.press(key) === true) return "used";
      if (question.form === undefined && choice !== undefined) this.#take(question, choice);
      // Control keys still work, such as Ctrl-C and Ctrl-O.
      return key.ctrl ? "text" : "used";
    }
    if (choice === undefined || !isLineEmpty || !isQuiet) return "text";
    const timer = setTimeout(() => {
      this.#held = undefined;
      this.#take(question, choice);
    }, ALONE);
    this.#held = { key, timer };
    return "held";
  }

  rows(width: number, most: number): { readonly rows: Line[]; readonly caret?: Caret } {
    const [question] = this.#open;
    if (question === undefined) return { rows: [] };
    const { title, content, choices, form } = question;
    const head = wrapLine([span("? ", "yellow", "bold"), span(firstLine(title), "bold")], width, [
      span("  "),
    ]);
    const isFilledIn = this.isFocused && form !== undefined;
    const options = choices.flatMap(({ key, says }) =>
      wrapLine([span(`  ${key} `, "cyan", "bold"), span(says)], width, [span("    ")]),
    );
    const more = this.#open.length > 1 ? ` \u00b7 ${this.#open.length - 1} more after this` : "";
    const foot = wrapLine(line(`  ${this.#how(question)}${more}`, "dim"), width, [span("  ")]);
    const problem =
      form === undefined || form.problem === "" ? [] : [line(`  ${form.problem}`, "red")];
    const below = [...problem, ...foot];
    const left = most - head.length - below.length;
    const fields = isFilledIn ? form.rows(width, Math.max(3, left - 2)) : { rows: options };
    const room = Math.max(isFilledIn ? 1 : 3, left - fields.rows.length);
    const above = [...head, ...indentLines(firstLines(content, room, ": Ctrl-O prints all"))];
    const { caret } = fields;
    return {
      rows: [...above, ...fields.rows, ...below],
      ...(caret && { caret: { ...caret, row: caret.row + above.length } }),
    };
  }

  #how({ why, form, choices }: Question): string {
    if (why !== undefined) return why;
    if (form === undefined) {
      return this.isFocused
        ? "Press a key to answer. Tab goes back to the text."
        : "Press a key to answer; where you have typed text, Tab first.";
    }
    if (this.isFocused)
      return "Up, Down: move. Space: choose. Enter: go on. Tab: back to the text.";
    const isQuick = choices.length > 1 ? "Press a key to answer, or Tab" : "Tab";
    return `${isQuick} to fill in the form.`;
  }

  #ask<T>(signal: AbortSignal, make: (settle: (answer: T) => void) => Question): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const question: Question = make((answer) => {
      this.#remove(question);
      resolve(answer);
    });
    this.#open.push(question);
    // Keys that were typed before the question was seen are no answer to it.
    if (this.#open.length === 1) this.#appear();
    signal.addEventListener("abort", question.leave, { once: true });
    this.#changed();
    return promise;
  }

  /** An answer that does not count is not sent. */
  #take({ why }: Question, { take }: Choice): void {
    if (why === undefined) take();
  }

  #appear(): void {
    this.#lastKey = Math.max(this.#lastKey, this.#now());
    this.isFocused = false;
  }

  #remove(question: Question): void {
    const at = this.#open.indexOf(question);
    if (at < 0) return;
    if (at === 0) clearTimeout(this.#held?.timer);
    if (at === 0) this.#held = undefined;
    this.#open.splice(at, 1);
    if (at === 0) this.#appear();
    this.#changed();
  }
}

const ACCEPTED = { action: "accept" } as const;

function choicesOf(
  options: readonly Option[],
  call: ToolCall,
  settle: (optionId: string) => void,
): Choice[] {
  const keys = keysOf(options);
  return options.map((option, at) => ({
    key: keys[at] ?? "",
    says: nameOf(option, call),
    take: () => settle(option.optionId),
  }));
}

/** Some agents say only "Always allow". Then we add what was asked, and who decides what it covers. */
function nameOf({ kind, name }: Option, { title }: ToolCall): string {
  if (!kind.endsWith("_always") || name.trim().split(/\s+/).length > 3) return name;
  return `${name} \u2013 for calls like "${firstLine(title).slice(0, 80)}"; the agent decides which those are`;
}
