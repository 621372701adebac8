import { suggest } from "../../base/text/suggest.ts";
import { fencedBlock, type ToolRunner } from "../tools/tool-runner.ts";
import { commit, diff, redo, undo } from "./diff.ts";
import { fixComments, review } from "./review.ts";
import { help, offlineText } from "./help.ts";
import { format, init, test } from "./project-commands.ts";
import { goOn, pause } from "./pause.ts";
import { search } from "./search.ts";
import {
  type CommandContext,
  compact,
  type DescribedCommand,
  mode,
  model,
  type parseCommand,
  type SlashCommand,
} from "./session-commands.ts";
import { TrunklineError } from "../../base/errors.ts";
import { listText } from "../background/background-tools.ts";
import { maskWhole } from "../../base/text/mask.ts";
import { PROJECT_NOTES } from "../memory/memory.ts";
import { cutText } from "../tools/agent-tool.ts";

const background: SlashCommand = {
  name: "background",
  description: "List the commands that run in the background, or stop one",
  hint: "[stop ID]",
  run: async (input, { background: commands }) => {
    const [verb = "", id = ""] = input.split(/\s+/);
    if (verb === "") return `\`\`\`\n${listText(commands)}\n\`\`\`\n`;
    if (verb !== "stop" || id === "") {
      return "Write `/background` to list them, `/background stop ID` to stop one.\n";
    }
    try {
      const command = commands.find(id);
      await command.stop();
      return `Stopped \`${command.line}\`.\n`;
    } catch (error) {
      if (error instanceof TrunklineError) return `${error.message}\n`;
      throw error;
    }
  },
};

const MOST_SHOWN = 20_000;
const ALL = /^--all(?:\s+|$)/;

const remember: SlashCommand = {
  name: "remember",
  description: "Note something for later sessions in this project, or in all of them",
  hint: "[--all] TEXT",
  run: async (input, context) => {
    const { memory: notes } = context;
    const scope = ALL.test(input) ? "all" : "project";
    const note = input.replace(ALL, "");
    if (note === "") return "Say what to remember: `/remember TEXT`, or `/remember --all TEXT`.\n";
    const answer = await context.perform({
      title: `Remember: ${note}`,
      kind: "edit",
      need: "write",
      call: (work) => notes.add(note, scope, work),
    });
    return `${answer.text}\n`;
  },
};

const memory: SlashCommand = {
  name: "memory",
  description: "Show what is remembered, and where",
  run: async (_, { memory: notes, files }) => {
    let said = "";
    const places = [
      ["In this project", PROJECT_NOTES, "project"],
      ["In all projects", notes.file, "all"],
    ] as const;
    for (const [where, path, scope] of places) {
      if (path === undefined) continue;
      const text = await notes.notes(scope, files);
      const shown =
        text === undefined
          ? "nothing yet\n"
          : `\n\n${fencedBlock(cutText(maskWhole(text), MOST_SHOWN))}`;
      said += `${where} (\`${path}\`): ${shown}\n`;
    }
    return said;
  },
};

const COMMANDS: readonly SlashCommand[] = [
  help,
  search,
  diff,
  review,
  fixComments,
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

type CommandSetting = Omit<CommandContext, "commands" | "perform"> & {
  readonly runner: ToolRunner;
  readonly custom: readonly DescribedCommand[];
};

/** Runs a slash command, or says why it cannot. Without a command, says that free text needs a model. */
export async function runSlashCommand(
  typed: ReturnType<typeof parseCommand>,
  { runner, custom, ...context }: CommandSetting,
): Promise<string | undefined> {
  const commands = [...COMMANDS, ...custom];
  const { turn } = context;
  if (typed === undefined) return offlineText(commands, context);
  const command = COMMANDS.find(({ name }) => name === typed.name);
  if (command === undefined) return unknownText(typed.name, commands);
  return await command.run(typed.input, {
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
        // Hooks for `Bash` apply to command lines that a person types as well.
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
