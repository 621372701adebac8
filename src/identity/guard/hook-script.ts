import type { OwnProgram } from "../credential/helper-command.ts";
import { programWords } from "../credential/helper-command.ts";
import { shellQuote } from "../git-settings.ts";
import type { GuardHook } from "./verdict.ts";

/** By which a hook of ours is known. */
export const HOOK_MARK = "# Trunkline's guard.";

/** What the hook that was there before is called from then on. */
export function keptName(hook: string): string {
  return `${hook}.before-trunkline`;
}

/**
 * A hook that asks Trunkline, and then goes on with the one that was there before. A Trunkline that
 * is gone or fails is a refusal: what guards must not be open when it is broken.
 */
export function guardScript(hook: GuardHook, program: OwnProgram, next: string): string {
  const check = `${programWords(program, "identity", "guard", "check", hook)} "$@"`;
  const refusal = "Trunkline's guard could not be run. To work without it, delete this hook:";
  const isPush = hook === "pre-push";
  return [
    "#!/bin/sh",
    `${HOOK_MARK} Remove it with: trunkline identity guard remove`,
    // Both the guard and the hook after it have to read what git says.
    ...(isPush ? ["refs=$(cat)", `say() { [ -z "$refs" ] || printf '%s\\n' "$refs"; }`] : []),
    `${isPush ? "say | " : ""}${check}${isPush ? "" : " </dev/null"}`,
    "status=$?",
    `[ "$status" -lt 126 ] || echo ${shellQuote(refusal)} "$0" >&2`,
    `[ "$status" -eq 0 ] || exit 1`,
    `next=${next}`,
    `[ -x "$next" ] || exit 0`,
    isPush ? `say | "$next" "$@"` : `exec "$next" "$@"`,
    "",
  ].join("\n");
}

/** A hook that only goes on with the one that was there before. */
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
