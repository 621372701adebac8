import type { SlashCommand } from "./slash-command.ts";

// While a turn runs, its session understands both (`AgentSession.pausing`). Here none is running.

export const pause: SlashCommand = {
  name: "pause",
  description: "Pause the running turn after its current step",
  run: async (_, { speaker }) => {
    await speaker.text(
      "Nothing is running. Write `/pause` while I work, and `/continue` to go on.\n",
    );
  },
};

export const goOn: SlashCommand = {
  name: "continue",
  description: "Continue a turn that is paused",
  run: async (_, { speaker }) => {
    await speaker.text("Nothing is paused.\n");
  },
};
