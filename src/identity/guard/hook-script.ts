import type { OwnProgram } from "../credential/helper-command.ts";
import { programWords } from "../credential/helper-command.ts";
import { shellQuote } from "../../base/text/shell-word.ts";
import type { GuardHook } from "./verdict.ts";

/** Marks hooks that we wrote. */
export const HOOK_MARK = "# Trunkline's guard.";

/** The new name of a hook that existed before. */
export function keptName(hook: string): string {
  return `${hook}.before-trunkline`;
}

/**
 * A hook that asks Trunkline and then runs the hook that existed before. If Trunkline is missing or
 * fails, the hook refuses: a guard must fail closed.
 */
export function guardScript(hook: GuardHook, program: OwnProgram, next: string): string {
  const check = `${programWords(program, "identity", "guard", "check", hook)} "$@"`;
  const refusal = "Trunkline's guard could not be run. To work without it, delete this hook:";
  const isPush = hook === "pre-push";
  return [
    "#!/bin/sh",
    `${HOOK_MARK} Remove it with: trunkline identity guard remove`,
    // The guard and the next hook both read git's input.
    ...(isPush ? ["refs=$(cat)", `say() { [ -z "$refs" ] || printf '%s\\n' "$refs"; }`] : []),
    isPush ? `say | ${check}` : `${check} </dev/null`,
    "status=$?",
    `[ "$status" -lt 126 ] || echo ${shellQuote(refusal)} "$0" >&2`,
    `[ "$status" -eq 0 ] || exit 1`,
    `next=${next}`,
    `[ -x "$next" ] || exit 0`,
    isPush ? `say | "$next" "$@"` : `exec "$next" "$@"`,
    "",
  ].join("\n");
}

/**
 * The files without which a hook of ours fails: Node, the program, and the configuration if it is
 * named. Read from the text, since the hook may be anybody's and must not be run.
 */
export function filesNeededBy(script: string): string[] {
  const line = script.split("\n").find((each) => each.includes(`'identity' 'guard' 'check'`)) ?? "";
  const words = Array.from(line.matchAll(/'((?:[^']|'\\'')*)'/g), ([, word = ""]) => {
    return word.replaceAll(String.raw`'\''`, "'");
  });
  const at = words.indexOf("--config");
  const config = at < 0 ? [] : words.slice(at + 1, at + 2);
  return [...words.slice(0, words.indexOf("identity")), ...config];
}

/** A hook that only runs the one that existed before. */
export function passingScript(next: string): string {
  return [
    "#!/bin/sh",
    `${HOOK_MARK} It does not check this hook, and runs your own.`,
    `next=${next}`,
    `[ -x "$next" ] || exit 0`,
    `exec "$next" "$@"`,
    "",
  ].join("\n");
}
