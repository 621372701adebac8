import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";
import type { Landed, LandOptions } from "../../worktree/land.ts";
import type { CommitProgram } from "../../git/commit-programs.ts";
import { confirm } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";

interface LandValues {
  readonly [name: string]: string | boolean | readonly string[] | undefined;
  readonly merge?: boolean;
  readonly squash?: boolean;
  readonly branch?: string;
  readonly into?: string;
  readonly "run-changed"?: boolean;
  readonly json?: boolean;
}

/** `trunkline session land ID` */
export async function land(invocation: Invocation<LandValues>): Promise<number> {
  const { values, positionals, env, out } = invocation;
  const wanted = wantedWay(values);
  const { config } = await openQuietApp(invocation);
  await using commands = await SessionCommands.open(config.data);
  const session = await commands.find(positionals[0] ?? "");
  const allow = (changed: readonly CommitProgram[]): Promise<boolean> =>
    allowChanged(changed, values["run-changed"] === true);
  const landed = await commands.land(session, { ...wanted, env, allow });
  if (values.json === true) out(`${JSON.stringify(landed, null, 2)}\n`);
  else out(`${wordsOf(landed)}\n`);
  return 0;
}

/** Has the person agree to programs that git runs and that are not as they were before the session. */
async function allowChanged(
  changed: readonly CommitProgram[],
  isAgreed: boolean,
): Promise<boolean> {
  if (isAgreed) return true;
  const list = changed.map(
    ({ name, command }) => `  ${visibleLine(name)}: ${visibleLine(command)}`,
  );
  const says = `Since the session began, what git runs has changed:\n${list.join("\n")}`;
  if (process.stdin.isTTY) return await confirm(`${says}\nRun it?`);
  const next = "Look at it, and add --run-changed if you agree.";
  throw new TrunklineError("untrusted", `Cannot land the session. ${says}\n${next}`);
}

function wantedWay(values: LandValues): Pick<LandOptions, "how" | "into"> {
  const { merge, squash, branch, into } = values;
  const ways = [merge, squash, branch].filter((way) => way !== undefined);
  if (ways.length > 1 || (branch !== undefined && into !== undefined)) {
    const says = "--merge, --squash and --branch exclude each other, and --branch excludes --into";
    throw new TrunklineError("usage", `Cannot land: ${says}.`);
  }
  if (branch !== undefined) return { how: "branch", into: branch };
  return { how: squash === true ? "squash" : "merge", into };
}

function wordsOf({ how, into, commit, committed }: Landed): string {
  const name = visibleLine(into);
  const at = commit.slice(0, 12);
  const first = committed ? "Committed what was uncommitted. " : "";
  switch (how) {
    case "nothing":
      return `${first}There is nothing to land: ${name} has it already.`;
    case "fast-forward":
      return `${first}Moved ${name} forward to ${at}.`;
    case "merge":
      return `${first}Merged into ${name} as ${at}.`;
    case "squash":
      return `${first}Added to ${name} as one commit, ${at}.`;
    case "branch":
      return `${first}The branch ${name} is at ${at}.`;
  }
}
