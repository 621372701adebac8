import { resolve } from "node:path";

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

/** The name that a comment of this user is signed with. */
export function personIn(env: NodeJS.ProcessEnv): string {
  return env.GIT_AUTHOR_NAME || env.USER || env.LOGNAME || "person";
}
