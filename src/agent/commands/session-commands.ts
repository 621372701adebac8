import { TrunklineError } from "../../base/errors.ts";
import type { SlashCommand } from "./slash-command.ts";

/** What a command may change of the session that it is typed in. */
export interface SessionControls {
  readonly mode: () => string;
  readonly modes: readonly Choice[];
  readonly model: () => string;
  readonly models: readonly Choice[];
  /** Throws with the choices if there is no such mode. */
  setMode(id: string): Promise<void>;
  /** Throws with similar names if there is no such model. */
  setModel(id: string): Promise<void>;
  /** Replaces the beginning of the conversation by a summary. Returns why it did not. */
  compact(): Promise<string | undefined>;
}

interface Choice {
  readonly id: string;
  readonly description: string;
}

const MOST_LISTED = 50;

export const mode: SlashCommand = {
  name: "mode",
  description: "Say which mode is in use, or use another",
  hint: "[MODE]",
  run: async (input, { session, speaker }) => {
    if (input === "") return speaker.text(list(session.modes, session.mode()));
    const problem = await problemOf(session.setMode(input.toLowerCase()));
    await speaker.text(problem ?? `The mode is now \`${session.mode()}\`.\n`);
  },
};

export const model: SlashCommand = {
  name: "model",
  description: "Say which model is in use, or use another",
  hint: "[PROVIDER/MODEL]",
  run: async (input, { session, speaker }) => {
    if (input === "") return speaker.text(list(session.models, session.model()));
    const problem = await problemOf(session.setModel(input));
    await speaker.text(problem ?? `The model is now \`${session.model()}\`.\n`);
  },
};

export const compact: SlashCommand = {
  name: "compact",
  description: "Replace the beginning of the conversation by a summary",
  run: async (_, { session, speaker }) => {
    const why = await session.compact();
    if (why !== undefined) await speaker.text(`${why}\n`);
  },
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
