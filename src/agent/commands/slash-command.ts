import type { Turn } from "../../session/agent.ts";
import type { ModelEntry } from "../models/models.ts";
import type { BackgroundCommands } from "../background/background-commands.ts";
import type { Journal } from "../files/journal.ts";
import type { TurnFiles } from "../files/turn-files.ts";
import type { AgentTool, ToolAnswer } from "../tools/agent-tool.ts";
import type { SessionControls } from "./session-commands.ts";
import type { Speaker } from "../turn/speaker.ts";

export interface DescribedCommand {
  readonly name: string;
  readonly description: string;
  /** Placeholder for the input after the name. */
  readonly hint?: string;
}

/** A command that the agent runs without a model (ACP slash-commands). */
export interface SlashCommand extends DescribedCommand {
  run(input: string, context: CommandContext): Promise<void>;
}

export interface CommandContext {
  readonly turn: Turn;
  readonly speaker: Speaker;
  readonly files: TurnFiles;
  readonly journal: Journal;
  readonly model: ModelEntry;
  /** Providers that did not list their models, and why. */
  readonly failures: ReadonlyMap<string, string>;
  /** Models that were found on this machine, but are used only when chosen. */
  readonly found: readonly string[];
  readonly commands: readonly DescribedCommand[];
  readonly reviews: ReviewComments | undefined;
  readonly session: SessionControls;
  readonly background: BackgroundCommands;
  /** The data folder. */
  readonly data: string;
  /** Runs a step as a tool call: it is shown, needs consent, and has a timeout. */
  perform(step: Step): Promise<ToolAnswer>;
}

export interface Step extends Pick<AgentTool, "kind" | "need" | "timeout"> {
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
