import { resolve } from "node:path";

import { openReviews } from "../../gateway/review/reviews.ts";
import type { Invocation, Values } from "../shell/command.ts";
import { quietHouse } from "../shell/quiet-house.ts";

export type Commands = Awaited<ReturnType<typeof openReviews>>;
export type ThreadView = Awaited<ReturnType<Commands["show"]>>;

export interface RepoValues extends Values {
  readonly repo?: string;
  readonly json?: boolean;
}

/** The reviews as seen from the folder that the command line names. */
export async function openCommands(invocation: Invocation<RepoValues>): Promise<Commands> {
  return openReviews(await quietHouse(invocation), folderOf(invocation));
}

export function folderOf({ values, cwd }: Invocation<RepoValues>): string {
  return values.repo === undefined ? cwd : resolve(cwd, values.repo);
}

/** Who writes on this machine. */
export function personIn(env: NodeJS.ProcessEnv): string {
  return env.GIT_AUTHOR_NAME || env.USER || env.LOGNAME || "person";
}
