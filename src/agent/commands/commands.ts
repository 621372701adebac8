import { commit } from "./commit.ts";
import { diff } from "./diff.ts";
import { fixComments } from "./fix-comments.ts";
import { help } from "./help.ts";
import { init } from "./init.ts";
import { format, test } from "./project-commands.ts";
import { review } from "./review.ts";
import { rewrite } from "./rewrite.ts";
import { search } from "./search.ts";
import type { SlashCommand } from "./slash-command.ts";
import { undo } from "./undo.ts";

export const COMMANDS: readonly SlashCommand[] = [
  help,
  search,
  diff,
  review,
  fixComments,
  rewrite,
  test,
  format,
  commit,
  undo,
  init,
];

/** As `available_commands_update` tells them. */
export function availableCommands(): Readonly<Record<string, unknown>>[] {
  return COMMANDS.map(({ name, description, hint }) => {
    return { name, description, ...(hint === undefined ? {} : { input: { hint } }) };
  });
}
