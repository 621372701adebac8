import { visibleLine } from "../../base/text/visible.ts";
import { diffLines } from "../tools/diff-lines.ts";

interface Question {
  readonly text: string;
  readonly options: readonly string[];
  readonly settle: (option: number | undefined) => void;
}

/** What agents ask a person at a terminal: one thing at a time, answered by an option's number. */
export class Questions {
  readonly #out: (text: string) => void;
  readonly #open: Question[] = [];
  readonly #unanswerable = Promise.withResolvers<void>();
  #isInputOver = false;

  constructor(out: (text: string) => void) {
    this.#out = out;
  }

  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** Resolves when something is asked that nobody is left to answer. */
  get unanswerable(): Promise<void> {
    return this.#unanswerable.promise;
  }

  /** The place of the chosen option; undefined when no answer is wanted any more. */
  ask(text: string, options: readonly string[], signal: AbortSignal): Promise<number | undefined> {
    const { promise, resolve: settle } = Promise.withResolvers<number | undefined>();
    const question = { text, options, settle };
    this.#open.push(question);
    if (this.#open[0] === question) this.#print(question);
    if (this.#isInputOver) this.#unanswerable.resolve();
    signal.addEventListener(
      "abort",
      () => {
        const isShown = this.#open[0] === question && !this.#isInputOver;
        if (isShown) this.#out("  (it is no longer asked)\n");
        this.#end(question, undefined);
      },
      { once: true },
    );
    return promise;
  }

  answer(line: string): void {
    const [question] = this.#open;
    if (question === undefined) return;
    const { length } = question.options;
    const at = /^\d{1,3}$/.test(line.trim()) ? Number(line) : 0;
    if (at >= 1 && at <= length) this.#end(question, at - 1);
    else
      this.#out(
        `  There is no option '${visibleLine(line)}'. Type a number from 1 to ${length}.\n`,
      );
  }

  /** Nobody types any more. */
  endInput(): void {
    this.#isInputOver = true;
    if (this.isOpen) this.#unanswerable.resolve();
  }

  #print({ text, options }: Question): void {
    const names = options.map((name, at) => `  ${at + 1}) ${visibleLine(name)}\n`);
    this.#out(`\n? ${text}\n${names.join("")}`);
  }

  #end(question: Question, option: number | undefined): void {
    const at = this.#open.indexOf(question);
    if (at < 0) return;
    this.#open.splice(at, 1);
    question.settle(option);
    const [next] = this.#open;
    if (at === 0 && next !== undefined) this.#print(next);
  }
}

type Json = Readonly<Record<string, unknown>>;

/** What an agent wants to do, for the person who is to allow it: all of it. */
export function questionText(toolCall: Json): string {
  const { title, content, rawInput } = toolCall;
  const head = typeof title === "string" ? visibleLine(title) : "May it go on?";
  const parts = Array.isArray(content) ? content.flatMap((part) => contentLines(part as Json)) : [];
  // Arguments say the same in fewer words; they are all there is of some agents.
  const input = parts.length === 0 && rawInput !== undefined ? rawInput : undefined;
  const lines = input === undefined ? parts : JSON.stringify(input, null, 2).split("\n");
  return [head, ...lines.map((line) => `    ${line}`)].join("\n");
}

function contentLines({ type, content, path, oldText, newText }: Json): string[] {
  if (type === "diff") {
    const lines = diffLines(linesOf(oldText), linesOf(newText));
    return [visibleLine(String(path)), ...lines];
  }
  const { text } = (content ?? {}) as Json;
  return typeof text === "string" ? text.split("\n") : [];
}

function linesOf(text: unknown): string[] {
  return typeof text === "string" && text !== "" ? text.split("\n") : [];
}
