import type { PauseWish, Turn } from "../../session/agent.ts";
import { typedText } from "../turn/instructions.ts";
import { parseCommand, type SlashCommand } from "./session-commands.ts";

/** What a prompt asks for while a turn runs (`AgentSession.pausing`). */
export function pauseWish(prompt: Turn["prompt"]): PauseWish | undefined {
  const name = parseCommand(typedText(prompt))?.name;
  return name === "pause" || name === "continue" ? name : undefined;
}

// The commands themselves run only while no turn does.

export const pause: SlashCommand = {
  name: "pause",
  description: "Pause the running turn after its current step",
  run: async () => "Nothing is running. Write `/pause` while I work, and `/continue` to go on.\n",
};

export const goOn: SlashCommand = {
  name: "continue",
  description: "Continue a turn that is paused",
  run: async () => "Nothing is paused.\n",
};
