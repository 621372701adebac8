import { TrunklineError } from "../../base/errors.ts";
import type { Turn } from "../../session/agent.ts";
import type { BackgroundCommands } from "../background/background-commands.ts";
import type { Journal } from "../files/journal.ts";
import type { TurnFiles } from "../files/turn-files.ts";
import type { InstalledAgent } from "../installed-agents.ts";
import type { Memory } from "../memory/memory.ts";
import { MODES } from "../modes.ts";
import type { SessionChoices } from "../session-choices.ts";
import type { AgentTool, ToolAnswer } from "../tools/agent-tool.ts";
import type { Speaker } from "../turn/speaker.ts";

interface Choice {
  readonly id: string;
  readonly description: string;
}

const MOST_LISTED = 50;

export const mode: SlashCommand = {
  name: "mode",
  description: "Say which mode is in use, or use another",
  hint: "[MODE]",
  run: async (input, { choices }) => {
    if (input === "") return list(MODES, choices.mode.id);
    const problem = await problemOf(choices.setMode(input.toLowerCase(), true));
    return problem ?? `The mode is now \`${choices.mode.id}\`.\n`;
  },
};

export const model: SlashCommand = {
  name: "model",
  description: "Say which model is in use, or use another",
  hint: "[PROVIDER/MODEL]",
  run: async (input, { choices }) => {
    if (input === "") return list(choices.models, choices.model.id);
    const problem = await problemOf(choices.setModel(input, true));
    return problem ?? `The model is now \`${choices.model.id}\`.\n`;
  },
};

export const compact: SlashCommand = {
  name: "compact",
  description: "Replace the beginning of the conversation by a summary",
  run: (_, { compact: shorten }) => shorten(),
};

/** Why a choice was refused, in words for the person. */
async function problemOf(choice: Promise<void>): Promise<string | undefined> {
  try {
    await choice;
    return undefined;
  } catch (error) {
    if (error instanceof TrunklineError) return `${error.message}\n`;
    throw error;
  }
}

function list(choices: readonly Choice[], current: string): string {
  const lines = choices.slice(0, MOST_LISTED).map(({ id, description }) => {
    return `- ${id === current ? "**in use** " : ""}\`${id}\`: ${description}`;
  });
  const more = choices.length - lines.length;
  return `${lines.join("\n")}\n${more > 0 ? `\n${more} more are not shown.\n` : ""}`;
}

export interface DescribedCommand {
  readonly name: string;
  readonly description: string;
  /** Placeholder for the input after the name. */
  readonly hint?: string;
}

/** A command that the agent runs without a model (ACP slash-commands). */
export interface SlashCommand extends DescribedCommand {
  /** Resolves to what the person is told, unless it has said everything itself. */
  run(input: string, context: CommandContext): Promise<string | undefined>;
}

export interface CommandContext {
  readonly turn: Turn;
  readonly speaker: Speaker;
  readonly files: TurnFiles;
  readonly journal: Journal;
  /** Providers that did not list their models, and why. */
  readonly failures: ReadonlyMap<string, string>;
  /** Models that were found on this machine, but are used only when chosen. */
  readonly found: readonly string[];
  /** Has the model write a text; undefined where there is none, or it fails. */
  readonly write: (instructions: string, prompt: string) => Promise<string | undefined>;
  /** Agents of others on this machine that are not configured. */
  readonly installed: readonly InstalledAgent[];
  readonly commands: readonly DescribedCommand[];
  readonly reviews: ReviewComments | undefined;
  readonly choices: SessionChoices;
  /** Replaces the beginning of the conversation by a summary. Resolves to why it did not, as a line. */
  readonly compact: () => Promise<string | undefined>;
  readonly background: BackgroundCommands;
  readonly memory: Memory;
  /** Runs a step as a tool call: it is shown, needs consent, and has a timeout. */
  perform(step: CommandStep): Promise<ToolAnswer>;
}

interface CommandStep extends Pick<AgentTool, "kind" | "need" | "timeout"> {
  readonly title: string;
  readonly call: (work: Parameters<AgentTool["call"]>[1]) => Promise<ToolAnswer>;
}

/** An open review comment. */
export interface ReviewComment {
  readonly id: string;
  /** Absolute. */
  readonly path: string;
  readonly line?: number;
  readonly comment: string;
  readonly hasSuggestion: boolean;
}

/** The part of the reviews that commands use. */
export interface ReviewComments {
  /** Whether the repository that contains the folder has open comments. */
  hasOpen(folder: string): Promise<boolean>;
  /** Open comments of the repository that contains the folder. */
  open(folder: string): Promise<readonly ReviewComment[]>;
  /** Content of a file with the suggestion applied. Throws if it cannot be applied. */
  suggested(folder: string, id: string): Promise<{ readonly path: string; readonly text: string }>;
  /** Notes in the thread that the suggestion was applied. */
  done(folder: string, id: string, text: string): Promise<void>;
}

/** Parses `/search foo`. A path such as `/usr/bin` is not a command. */
export function parseCommand(text: string): { name: string; input: string } | undefined {
  const [, name, input = ""] = /^\/([A-Za-z][\w:-]*)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), input: input.trim() };
}
