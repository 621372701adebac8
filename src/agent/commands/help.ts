import { OFFLINE } from "../models/models.ts";
import type { CommandContext, SlashCommand } from "./slash-command.ts";

export const help: SlashCommand = {
  name: "help",
  description: "Say what can be done here",
  run: async (_, context) => {
    await context.speaker.text(`${commandList(context.commands)}\n\n${modelText(context)}\n`);
  },
};

export function commandList(commands: readonly SlashCommand[]): string {
  const lines = commands.map(({ name, hint, description }) => {
    return `- \`/${name}${hint === undefined ? "" : ` ${hint}`}\`: ${description}`;
  });
  return lines.join("\n");
}

function modelText({ model }: CommandContext): string {
  if (model.id !== OFFLINE.id) return `Everything else goes to the model ${model.id}.`;
  return `No language model is in use. ${HOW_TO_GET_ONE}`;
}

export const HOW_TO_GET_ONE =
  "To have one: set `ANTHROPIC_API_KEY`, `OPENAI_API_KEY` (and `OPENAI_BASE_URL`) or " +
  "`GOOGLE_GENERATIVE_AI_API_KEY`, or start Ollama, LM Studio or llama.cpp on this machine; then " +
  "begin a new session and choose the model.";

/** What is answered to free text where there is nobody to understand it. */
export function offlineText(commands: readonly SlashCommand[]): string {
  return (
    "I am Trunkline without a language model, so I cannot understand free text. These commands do " +
    `what they say:\n\n${commandList(commands)}\n\n${HOW_TO_GET_ONE}\n`
  );
}
