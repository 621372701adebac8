import { createInterface } from "node:readline";

import { visibleLine } from "../../base/text/visible.ts";
import type { AttachOptions } from "../../protocol/acp/attach.ts";
import { Questions, questionText } from "./questions.ts";

export type Permit = AttachOptions["permit"];

export interface PermittingOptions {
  /** Everything is allowed. */
  readonly isYes: boolean;
  /** Nobody is asked, even if there is a terminal. */
  readonly isSilent: boolean;
  readonly out: (text: string) => void;
  readonly err: (text: string) => void;
}

/** Who answers what the agent asks: `--yes`, a person at a terminal, or nobody, who refuses. */
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
