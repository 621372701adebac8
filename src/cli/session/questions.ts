import { createInterface } from "node:readline";

import { visibleLine } from "../../base/text/visible.ts";
import { lineText } from "../transcript/styled-line.ts";
import { changedCall, type Json, wholeCall, wordsOf } from "../transcript/tool-content.ts";
import type { AttachOptions } from "../../protocol/acp/attach.ts";

interface Question {
  readonly text: string;
  readonly options: readonly string[];
  readonly settle: (option: number | undefined) => void;
}

/** Permission requests at a terminal: shown one at a time, and answered with an option's number. */
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

  /** The number of options of the shown question; 0 if none is shown. */
  get choices(): number {
    return this.#open[0]?.options.length ?? 0;
  }

  /** Resolves when a question is open and the input has ended. */
  get unanswerable(): Promise<void> {
    return this.#unanswerable.promise;
  }

  /** The index of the chosen option; undefined if the request was withdrawn. */
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
        if (isShown) this.#out("  (no answer is needed any more)\n");
        this.#end(question, undefined);
      },
      { once: true },
    );
    return promise;
  }

  /** Shows a question that others answer. */
  show(text: string, why: string): undefined {
    this.#out(`\n? ${text}\n  (${visibleLine(why)})\n`);
  }

  answer(line: string): void {
    const [question] = this.#open;
    if (question === undefined) return;
    const at = /^\d{1,3}$/.test(line.trim()) ? Number(line) : 0;
    if (at >= 1 && at <= question.options.length) this.#end(question, at - 1);
    else this.#out(`  There is no option '${visibleLine(line)}'. ${how(question)}\n`);
  }

  /** The input has ended: no question can be answered from now on. */
  endInput(): void {
    this.#isInputOver = true;
    if (this.isOpen) this.#unanswerable.resolve();
  }

  #print(question: Question): void {
    const { text, options } = question;
    const names = options.map((name, at) => `  ${at + 1}) ${visibleLine(name)}\n`);
    this.#out(`\n? ${text}\n${names.join("")}  ${how(question)}\n`);
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

function how({ options }: Question): string {
  return `Type a number from 1 to ${options.length}.`;
}

/** Everything an agent wants to do, for the person who decides whether it may. */
export function questionText(toolCall: Json): string {
  const head = visibleLine(wordsOf(toolCall.title) || "Permission requested");
  const lines = wholeCall(changedCall(undefined, toolCall));
  return [head, ...lines.map((each) => `    ${lineText(each, false)}`)].join("\n");
}

type Permit = AttachOptions["permit"];

interface PermittingOptions {
  /** Everything is allowed. */
  readonly isYes: boolean;
  /** Nobody is asked, even if there is a terminal. */
  readonly isSilent: boolean;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Answers the agent's permission requests: by `--yes`, by a person at a terminal, else by refusing. */
export function permitting(
  { isYes, isSilent, out, err }: PermittingOptions,
  opened: AsyncDisposableStack,
): Permit {
  const person = process.stdin.isTTY && !isSilent ? askedAtTerminal(out, opened) : undefined;
  return async (request, signal) => {
    const { toolCall, options, _meta } = request;
    const { needsPerson } = (_meta?.trunkline ?? {}) as { readonly needsPerson?: unknown };
    const isYesEnough = needsPerson !== true;
    if (isYes && isYesEnough) return optionOf(options, "allow");
    if (person !== undefined) return person(request, signal);
    const { title = "what it asked" } = toolCall as { title?: string };
    const next = isYesEnough ? "--yes allows it." : "Only a person at a terminal can allow it.";
    err(`Refused: ${visibleLine(title)}. ${next}\n`);
    return optionOf(options, "reject");
  };
}

function askedAtTerminal(out: PermittingOptions["out"], opened: AsyncDisposableStack): Permit {
  const questions = new Questions(out);
  const input = createInterface({ input: process.stdin });
  opened.defer(() => input.close());
  input.on("line", (line) => questions.answer(line));
  return askingWith(questions);
}

/** Has a person choose. */
export function askingWith(questions: Questions): Permit {
  return async ({ toolCall, options, _meta }, signal) => {
    const { why } = (_meta?.trunkline ?? {}) as { readonly why?: unknown };
    if (typeof why === "string") return questions.show(questionText(toolCall), why);
    const names = options.map(({ name }) => name);
    const chosen = await questions.ask(questionText(toolCall), names, signal);
    return chosen === undefined ? undefined : options[chosen]?.optionId;
  };
}

/** The narrowest of the options that allow, or that refuse; null where there is none. */
function optionOf(
  options: Parameters<Permit>[0]["options"],
  what: "allow" | "reject",
): string | null {
  const fitting = options.filter(({ kind }) => kind.startsWith(what));
  const option = fitting.find(({ kind }) => kind.endsWith("_once")) ?? fitting[0];
  return option?.optionId ?? null;
}
