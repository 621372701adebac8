import { text as readAll } from "node:stream/consumers";

import type { GuardStatus } from "../../identity/guard/install-guard.ts";
import type { GuardHook } from "../../identity/guard/guard.ts";
import type { GuardOutcome } from "../../identity/identity-commands.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openCommands } from "./identity.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { linesText, print } from "../shell/layout.ts";

type RepositoryValues = OptionValues<"repo">;

/** `trunkline identity guard install` */
export async function install(invocation: Invocation<RepositoryValues>): Promise<number> {
  await using commands = await openCommands(invocation);
  return show(invocation, await commands.installGuard(invocation.values.repo ?? "."));
}

/** `trunkline identity guard remove` */
export async function remove(invocation: Invocation<RepositoryValues>): Promise<number> {
  const { values } = invocation;
  await using commands = await openCommands(invocation);
  const wasThere = await commands.removeGuard(values.repo ?? ".");
  const says = wasThere ? "Removed the guard.\n" : "The guard was not installed.\n";
  return print(invocation, { removed: wasThere }, says);
}

/** `trunkline identity guard status` */
export async function status(invocation: Invocation<RepositoryValues>): Promise<number> {
  await using commands = await openCommands(invocation);
  const found = await commands.guardStatus(invocation.values.repo ?? ".");
  show(invocation, found);
  return found.isInstalled && found.broken === undefined ? 0 : 1;
}

/** `trunkline identity guard allow` */
export async function allow(
  invocation: Invocation<RepositoryValues & OptionValues<"reason", "once">>,
): Promise<number> {
  const { repo = ".", reason } = invocation.values;
  await using commands = await openCommands(invocation);
  const pass = await commands.givePass(repo, reason);
  const where = visibleLine(pass.worktree);
  const says = `The next commit or push in ${where} is allowed until ${pass.until}. This is recorded.\n`;
  return print(invocation, pass, says);
}

/** `trunkline identity guard check HOOK [REMOTE] [URL]`: called by the git hooks. */
export async function check(invocation: Invocation<RepositoryValues>): Promise<number> {
  const [hook = "", name, url] = invocation.positionals;
  const refs = hook === "pre-push" ? await readAll(process.stdin) : undefined;
  await using commands = await openCommands(invocation);
  const outcome = await commands.judge({
    hook: hook as GuardHook,
    ...(url === undefined ? {} : { remote: { name: name ?? "", url } }),
    ...(refs === undefined ? {} : { refs }),
  });
  const notes = verdictLines(hook, outcome);
  return print(invocation, outcome, "", { notes, code: outcome.isAllowed ? 0 : 1 });
}

function verdictLines(hook: string, outcome: GuardOutcome): string[] {
  const { problems, notes, override, next, isAllowed } = outcome;
  const what = hook === "pre-push" ? "push" : "commit";
  const lines = notes.map((note) => `trunkline guard: ${note}`);
  if (problems.length > 0) {
    const by = override === undefined ? "" : ` because of ${override}, although`;
    lines.push(`trunkline guard ${isAllowed ? "allows" : "refuses"} this ${what}${by}:`);
    lines.push(...problems.map(({ says }) => `- ${says}`));
  }
  if (!isAllowed) {
    lines.push(`To fix it: ${next}`);
    lines.push("To allow it once: trunkline identity guard allow --once");
  }
  return lines;
}

function show(invocation: Invocation<RepositoryValues>, found: GuardStatus): number {
  const own = found.chained.map(
    (hook) => `Your own ${visibleLine(hook)} hook runs after the guard.`,
  );
  return print(invocation, found, linesText([found.says, ...own]));
}
