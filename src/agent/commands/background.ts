import { TrunklineError } from "../../base/errors.ts";
import { listText } from "../background/background-tools.ts";
import type { SlashCommand } from "./session-commands.ts";

export const background: SlashCommand = {
  name: "background",
  description: "List the commands that run in the background, or stop one",
  hint: "[stop ID]",
  run: async (input, { background: commands, speaker }) => {
    const [verb = "", id = ""] = input.split(/\s+/);
    if (verb === "") return speaker.text(`\`\`\`\n${listText(commands)}\n\`\`\`\n`);
    if (verb !== "stop" || id === "") {
      return speaker.text("Write `/background` to list them, `/background stop ID` to stop one.\n");
    }
    try {
      const command = commands.find(id);
      await command.stop();
      await speaker.text(`Stopped \`${command.line}\`.\n`);
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      await speaker.text(`${error.message}\n`);
    }
  },
};
