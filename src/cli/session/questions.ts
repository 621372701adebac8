import { createInterface } from "node:readline";

import { fieldsOf, type FieldValue, type QuestionField } from "../../base/question-fields.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { lineText, linesOf } from "../transcript/styled-line.ts";
import { changedCall, type Json, wholeCall, wordsOf } from "../transcript/tool-content.ts";
import type { AttachOptions } from "../../protocol/acp/attach.ts";
import { DECLINED, formAnswer } from "./form-content.ts";

/** The index of an option, or a text of the person's own. */
type Said = number | string;

interface Question {
  readonly text: string;
  readonly options: readonly string[];
  /** A letter that stands for an option, where it has one. */
  readonly keys: readonly string[];
  readonly takesText: boolean;
  readonly settle: (said: Said | undefined) => void;
}

/** Begins a line that is an answer in words: any other line may be meant for the agent. */
const TEXT_MARK = "=";

/** The dashboard's keys, for the first option of each kind. */
const KEYS: Readonly<Record<string, string>> = {
  allow_once: "y",
  reject_once: "n",
  allow_always: "a",
  reject_always: "x",
};

/** What answers a permission request by one key: a letter, or the number of the option. */
export function keysOf(options: readonly { readonly kind: string }[]): string[] {
  return options.map(({ kind }, at) => {
    const isFirst = options.findIndex((each) => each.kind === kind) === at;
    return (isFirst ? KEYS[kind] : undefined) ?? String(at + 1);
  });
}

/** Questions at a terminal: shown one at a time, and answered with an option's number, its letter or `= TEXT`. */
export class Questions {
  readonly #out: (text: string) => void;
  readonly #open: Question[] = [];
  readonly #unanswerable = Promise.withResolvers<void>();
  /** Resolves when a question is open and the input has ended. */
  readonly unanswerable: Promise<void> = this.#unanswerable.promise;
  #isInputOver = false;

  constructor(out: (text: string) => void) {
    this.#out = out;
  }

  get isOpen(): boolean {
    return this.#open.length > 0;
  }

  /** Whether a line can only be meant as an answer. */
  isAnswer(line: string): boolean {
    const [question] = this.#open;
    if (question === undefined) return false;
    const isChoice = /^\d*$/.test(line) || question.keys.includes(line);
    return isChoice || (question.takesText && line.startsWith(TEXT_MARK));
  }

  /** The index of the chosen option; undefined if the request was withdrawn. */
  ask(
    text: string,
    options: readonly string[],
    signal: AbortSignal,
    keys: readonly string[] = [],
  ): Promise<number | undefined> {
    return this.#ask({ text, options, keys, takesText: false }, signal) as Promise<
      number | undefined
    >;
  }

  /** The same, or a text. */
  askText(
    text: string,
    options: readonly string[],
    signal: AbortSignal,
  ): Promise<Said | undefined> {
    return this.#ask({ text, options, keys: [], takesText: true }, signal);
  }

  #ask(asked: Omit<Question, "settle">, signal: AbortSignal): Promise<Said | undefined> {
    const { promise, resolve: settle } = Promise.withResolvers<Said | undefined>();
    const question = { ...asked, settle };
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
    if (question.takesText && line.startsWith(TEXT_MARK)) {
      this.#end(question, line.slice(TEXT_MARK.length).trim());
      return;
    }
    const number = /^\d{1,3}$/.test(line.trim()) ? Number(line) : 0;
    const at = question.keys.indexOf(line.trim()) + 1 || number;
    if (at >= 1 && at <= question.options.length) this.#end(question, at - 1);
    else this.#out(`  There is no option '${visibleLine(line)}'. ${how(question)}\n`);
  }

  /** The input has ended: no question can be answered from now on. */
  endInput(): void {
    this.#isInputOver = true;
    if (this.isOpen) this.#unanswerable.resolve();
  }

  #print(question: Question): void {
    const { text, options, keys } = question;
    const names = options.map((name, at) => {
      const key = keys[at] ?? `${at + 1}`;
      return `  ${key === `${at + 1}` ? key : `${at + 1} or ${key}`}) ${visibleLine(name)}\n`;
    });
    this.#out(`\n? ${text}\n${names.join("")}  ${how(question)}\n`);
  }

  #end(question: Question, said: Said | undefined): void {
    const at = this.#open.indexOf(question);
    if (at < 0) return;
    this.#open.splice(at, 1);
    question.settle(said);
    const [next] = this.#open;
    if (at === 0 && next !== undefined) this.#print(next);
  }
}

function how({ options, keys, takesText }: Question): string {
  const letters = keys.filter((key) => /\D/.test(key)).map((key) => `${key} or `);
  const range = `${letters.join("")}${options.length === 1 ? "1" : `a number from 1 to ${options.length}`}`;
  return `Type ${takesText ? "`= ` and your answer, or " : ""}${range}.`;
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

/** How an agent asks the person at this terminal. */
type Asking = Pick<AttachOptions, "permit" | "elicit">;

/**
 * Answers the agent's permission requests: by `--yes`, by a person at a terminal, else by refusing. Other
 * questions are only for a person.
 */
export function permitting(
  { isYes, isSilent, out, err }: PermittingOptions,
  opened: AsyncDisposableStack,
): Asking {
  const person = process.stdin.isTTY && !isSilent ? askedAtTerminal(out, opened) : undefined;
  const permit: Permit = async (request, signal) => {
    const { toolCall, options, _meta } = request;
    const { needsPerson } = (_meta?.trunkline ?? {}) as { readonly needsPerson?: unknown };
    const isYesEnough = needsPerson !== true;
    if (isYes && isYesEnough) return optionOf(options, "allow");
    if (person !== undefined) return person.permit(request, signal);
    const { title = "what it asked" } = toolCall as { title?: string };
    const next = isYesEnough ? "--yes allows it." : "Only a person at a terminal can allow it.";
    err(`Refused: ${visibleLine(title)}. ${next}\n`);
    return optionOf(options, "reject");
  };
  return { permit, elicit: person?.elicit };
}

function askedAtTerminal(out: PermittingOptions["out"], opened: AsyncDisposableStack): Asking {
  const questions = new Questions(out);
  const input = createInterface({ input: process.stdin });
  opened.defer(() => input.close());
  input.on("line", (line) => questions.answer(line));
  return askingWith(questions);
}

export function askingWith(questions: Questions): Asking {
  return { permit: choosing(questions), elicit: fillingIn(questions) };
}

/** ACP elicitation: a form is asked field by field, a page is named. */
function fillingIn(questions: Questions): NonNullable<AttachOptions["elicit"]> {
  const no = "Do not answer";
  return async ({ mode, message, url, requestedSchema }, signal) => {
    const says = linesOf(message)
      .map((each) => lineText(each, false))
      .join("\n  ");
    if (mode === "url") {
      const text = `${says}\n  ${visibleLine(wordsOf(url))}`;
      const chosen = await questions.ask(text, ["Go on: the page was visited", no], signal);
      return chosen === undefined ? undefined : chosen === 0 ? { action: "accept" } : DECLINED;
    }
    const fields = fieldsOf(requestedSchema);
    for (let note = ""; ;) {
      const values: Record<string, FieldValue> = {};
      for (const [at, field] of fields.entries()) {
        const head = at === 0 ? `${note}${says}\n  ` : "";
        const answer = await askField(questions, field, { head, no, signal });
        if (answer === undefined) return undefined;
        if (answer === no) return DECLINED;
        Object.assign(values, answer);
      }
      if (fields.length === 0) {
        const chosen = await questions.ask(says, ["Accept", no], signal);
        if (chosen !== 0) return chosen === undefined ? undefined : DECLINED;
      }
      const outcome = await formAnswer(requestedSchema, fields, values);
      if ("answer" in outcome) return outcome.answer;
      note = `${visibleLine(outcome.problem)}. Once more:\n  `;
    }
  };
}

interface AskingField {
  readonly head: string;
  /** What stands for no answer at all. */
  readonly no: string;
  readonly signal: AbortSignal;
}

async function askField(
  questions: Questions,
  { name, title, description, type, choices, isRequired, initial }: QuestionField,
  { head, no, signal }: AskingField,
): Promise<Readonly<Record<string, FieldValue>> | string | undefined> {
  const about = [title, description].filter((each) => each !== undefined).map(visibleLine);
  const text = `${head}${about.join(": ")}`;
  const skip = isRequired ? [] : ["Leave it out"];
  if (type === "boolean" || type === "choice") {
    const values = type === "boolean" ? [true, false] : choices.map(({ value }) => value);
    const names = type === "boolean" ? ["Yes", "No"] : choices.map((each) => each.title);
    const chosen = await questions.ask(text, [...names, ...skip, no], signal);
    if (chosen === undefined) return undefined;
    if (chosen === names.length + skip.length) return no;
    // A default that the person leaves out is not sent either.
    return { [name]: values[chosen] ?? (type === "boolean" ? initial : "") };
  }
  const known = choices.map((each, at) => `\n  (${at + 1} is ${visibleLine(each.title)})`);
  const filled = initial.toString() === "" ? "" : `\n  (now: ${visibleLine(String(initial))})`;
  const some = type === "choices" ? "\n  Type their numbers." : "";
  const left = initial.toString() === "" ? skip : ["Leave it as it is"];
  const asked = `${text}${known.join("")}${some}${filled}`;
  const said = await questions.askText(asked, [...left, no], signal);
  if (typeof said !== "string") {
    if (said === left.length) return no;
    return said === undefined ? undefined : { [name]: initial };
  }
  if (type !== "choices") return { [name]: said };
  const numbers = said.split(/[\s,]+/).filter(Boolean);
  return { [name]: numbers.map((each) => choices[Number(each) - 1]?.value ?? each) };
}

/** Has a person choose an option of a permission request. */
function choosing(questions: Questions): Permit {
  return async ({ toolCall, options, _meta }, signal) => {
    const { why } = (_meta?.trunkline ?? {}) as { readonly why?: unknown };
    if (typeof why === "string") return questions.show(questionText(toolCall), why);
    const names = options.map(({ name }) => name);
    const chosen = await questions.ask(questionText(toolCall), names, signal, keysOf(options));
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
