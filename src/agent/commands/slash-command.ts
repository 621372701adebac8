import type { Turn } from "../../session/agent.ts";
import type { ModelEntry } from "../models/models.ts";
import type { Journal } from "../files/journal.ts";
import type { TurnFiles } from "../files/turn-files.ts";
import type { AgentTool, ToolAnswer } from "../tools/agent-tool.ts";
import type { Speaker } from "../turn/speaker.ts";

/** Something that is done as it is said, without any model. */
export interface SlashCommand {
  readonly name: string;
  readonly description: string;
  /** What may be written after its name. */
  readonly hint?: string;
  run(input: string, context: CommandContext): Promise<void>;
}

export interface CommandContext {
  readonly turn: Turn;
  readonly speaker: Speaker;
  readonly files: TurnFiles;
  readonly journal: Journal;
  readonly model: ModelEntry;
  /** Providers of models that could not be asked, and why. */
  readonly failures: ReadonlyMap<string, string>;
  /** Models on this machine that nobody has chosen yet. */
  readonly found: readonly string[];
  readonly commands: readonly SlashCommand[];
  readonly reviews: ReviewComments | undefined;
  /** The folder of all state. */
  readonly data: string;
  /** Does one step of the work before the person's eyes, with the limits and consent of a tool. */
  perform(step: Step): Promise<ToolAnswer>;
}

export interface Step extends Pick<AgentTool, "kind" | "need" | "timeout"> {
  readonly title: string;
  readonly call: (work: Parameters<AgentTool["call"]>[1]) => Promise<ToolAnswer>;
}

/** A comment of a review that is not dealt with yet. */
export interface ReviewComment {
  readonly id: string;
  /** Absolute. */
  readonly path: string;
  readonly line?: number;
  readonly comment: string;
  readonly hasSuggestion: boolean;
}

/** As much of the reviews of a workspace as commands need. */
export interface ReviewComments {
  /** The open ones, of the repository that the folder is in. */
  open(folder: string): Promise<readonly ReviewComment[]>;
  /** What a file holds once the suggestion is in it. Throws with the reason where it does not fit. */
  suggested(folder: string, id: string): Promise<{ readonly path: string; readonly text: string }>;
  /** Says in the thread that it is done, for a person to look at. */
  done(folder: string, id: string, text: string): Promise<void>;
}

/** A command as it was typed: `/search foo`. A path such as `/usr/bin` is none. */
export function parseCommand(text: string): { name: string; input: string } | undefined {
  const [, name, input = ""] = /^\/([A-Za-z][\w-]*)(?:\s+([\s\S]*))?$/.exec(text.trim()) ?? [];
  return name === undefined ? undefined : { name: name.toLowerCase(), input: input.trim() };
}
