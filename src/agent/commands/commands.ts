import { suggest } from "../../base/text/suggest.ts";
import type { ToolRunner } from "../tools/tool-runner.ts";
import { background } from "./background.ts";
import { commit, diff, redo, undo } from "./diff.ts";
import { fixComments, review } from "./review.ts";
import { help, offlineText } from "./help.ts";
import { format, init, test } from "./project-commands.ts";
import { memory, remember } from "./memory.ts";
import { goOn, pause } from "./pause.ts";
import { rewrite, search } from "./search.ts";
import {
  type CommandContext,
  compact,
  type DescribedCommand,
  mode,
  model,
  type parseCommand,
  type SlashCommand,
} from "./session-commands.ts";

const COMMANDS: readonly SlashCommand[] = [
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
  redo,
  init,
  remember,
  memory,
  background,
  mode,
  model,
  compact,
  pause,
  goOn,
];

/** ACP slash-commands: the list for `available_commands_update`. */
export function availableCommands(
  custom: readonly DescribedCommand[] = [],
): Readonly<Record<string, unknown>>[] {
  return [...COMMANDS, ...custom].map(({ name, description, hint }) => {
    return { name, description, ...(hint === undefined ? {} : { input: { hint } }) };
  });
}

export const COMMAND_NAMES: ReadonlySet<string> = new Set(COMMANDS.map(({ name }) => name));

type Surroundings = Omit<CommandContext, "commands" | "perform"> & {
  readonly runner: ToolRunner;
  readonly custom: readonly DescribedCommand[];
};

/** Runs a slash command, or says why it cannot. Without a command, says that free text needs a model. */
export async function runSlashCommand(
  typed: ReturnType<typeof parseCommand>,
  { runner, custom, ...context }: Surroundings,
): Promise<void> {
  const commands = [...COMMANDS, ...custom];
  const { speaker, turn } = context;
  if (typed === undefined) {
    await speaker.text(offlineText(commands, context));
    return;
  }
  const command = COMMANDS.find(({ name }) => name === typed.name);
  if (command === undefined) {
    await speaker.text(unknownText(typed.name, commands));
    return;
  }
  await command.run(typed.input, {
    ...context,
    commands,
    perform: ({ title, kind, need, timeout, call }) => {
      turn.signal.throwIfAborted();
      const tool = {
        name: command.name,
        description: command.description,
        inputSchema: { type: "object" },
        kind,
        need,
        ...(timeout === undefined ? {} : { timeout }),
        // A command line is what hooks for `Bash` are there for, whoever typed it.
        hooked:
          kind === "execute"
            ? { name: "Bash", input: { command: title } }
            : { name: command.name, input: { input: typed.input } },
        title: () => title,
        call: (_: unknown, work: Parameters<typeof call>[0]) => call(work),
      };
      const args = typed.input === "" ? {} : { input: typed.input };
      return runner.perform({ id: "", name: command.name, args }, tool);
    },
  });
}

function unknownText(name: string, commands: readonly DescribedCommand[]): string {
  const names = commands.map((command) => command.name);
  const near = suggest(name, names).map((each) => `\`/${each}\``);
  const meant = near.length === 0 ? "" : ` Did you mean ${near.join(" or ")}?`;
  const all = names.map((each) => `\`/${each}\``).join(", ");
  return `There is no command \`/${name}\`.${meant} There are: ${all}.\n`;
}
