import type { OwnProgram } from "../credential/helper-command.ts";
import { programWords } from "../credential/helper-command.ts";
import { shellQuote } from "../../base/text/shell-word.ts";
import { OTHERS_WORK, SEPARATOR, STAMP, STAMPED_VARIABLES } from "./stamp.ts";
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
    ...(isPush ? [] : asBefore()),
    `if ${isPush ? "true" : "! as_before"}; then`,
    `  ${isPush ? "say | " : ""}${check}${isPush ? "" : " </dev/null"}`,
    "  status=$?",
    `  [ "$status" -lt 126 ] || echo ${shellQuote(refusal)} "$0" >&2`,
    `  [ "$status" -eq 0 ] || exit 1`,
    "fi",
    `next=${next}`,
    `[ -x "$next" ] || exit 0`,
    isPush ? `say | "$next" "$@"` : `exec "$next" "$@"`,
    "",
  ].join("\n");
}

/**
 * A function that succeeds if nothing has changed since the guard allowed a commit (stamp.ts). It needs
 * no process but one: a commit that starts Node takes ten times as long.
 */
function asBefore(): string[] {
  const now = STAMPED_VARIABLES.map((name) => `\${${name}-}`).join(SEPARATOR);
  return [
    "as_before() {",
    `  dir=\${GIT_DIR:-.git} stamp=\${GIT_DIR:-.git}/${STAMP}`,
    `  [ -n "$GIT_AUTHOR_EMAIL" ] && [ -r "$stamp" ] || return 1`,
    `  { IFS= read -r folder && IFS= read -r was && IFS= read -r missing; } <"$stamp" || return 1`,
    `  [ "$folder" -ef . ] && [ "$was" = "${now}" ] || return 1`,
    `  for each in ${OTHERS_WORK.join(" ")}; do [ ! -e "$dir/$each" ] || return 1; done`,
    `  set -f; IFS='${SEPARATOR}'`,
    `  for each in $missing; do [ ! -e "$each" ] || return 1; done`,
    "  set +f; unset IFS",
    `  sha256sum -c --status "$stamp" >/dev/null 2>&1`,
    "}",
  ];
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
