import { resolve } from "node:path";

import { visibleLine } from "../../base/text/visible.ts";
import { Git } from "../../git/git.ts";
import { ReviewCommands } from "../../review/review-commands.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";

export type RepoValues = OptionValues<"repo">;

/** The reviews of the repository that the command line names. */
export async function openCommands(invocation: Invocation<RepoValues>): Promise<ReviewCommands> {
  const { config } = await openQuietApp(invocation);
  return ReviewCommands.open(config.data, folderOf(invocation));
}

export function folderOf({ values, cwd }: Invocation<RepoValues>): string {
  return values.repo === undefined ? cwd : resolve(cwd, values.repo);
}

/** The name that a comment of this person is signed with: the given one, or that of the git identity. */
export async function personIn(
  invocation: Invocation<RepoValues & OptionValues<"as">>,
): Promise<string> {
  const { env, values } = invocation;
  const given = values.as || env.GIT_AUTHOR_NAME;
  if (given) return visibleLine(given).slice(0, LONGEST_NAME);
  const git = new Git(folderOf(invocation), { env });
  const known = await git
    .run(["config", "--get", "user.name"], { accepts: [0, 1] })
    .catch(() => undefined);
  const name = known?.stdout.toString("utf8").trim();
  return name || env.USER || env.LOGNAME || "person";
}

const LONGEST_NAME = 100;
