import { maskWhole } from "../../base/text/mask.ts";
import { PROJECT_NOTES } from "../memory/memory.ts";
import { bounded } from "../tools/agent-tool.ts";
import { fencedBlock } from "../tools/tool-runner.ts";
import type { SlashCommand } from "./session-commands.ts";

const MOST_SHOWN = 20_000;
const ALL = /^--all(?:\s+|$)/;

export const remember: SlashCommand = {
  name: "remember",
  description: "Note something for later sessions in this project, or in all of them",
  hint: "[--all] TEXT",
  run: async (input, context) => {
    const { memory: notes, speaker } = context;
    const scope = ALL.test(input) ? "all" : "project";
    const note = input.replace(ALL, "");
    if (note === "") {
      await speaker.text("Say what to remember: `/remember TEXT`, or `/remember --all TEXT`.\n");
      return;
    }
    const answer = await context.perform({
      title: `Remember: ${note}`,
      kind: "edit",
      need: "write",
      call: (work) => notes.add(note, scope, work),
    });
    await speaker.text(`${answer.text}\n`);
  },
};

export const memory: SlashCommand = {
  name: "memory",
  description: "Show what is remembered, and where",
  run: async (_, { memory: notes, files, speaker }) => {
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
          : `\n\n${fencedBlock(bounded(maskWhole(text), MOST_SHOWN))}`;
      await speaker.text(`${where} (\`${path}\`): ${shown}\n`);
    }
  },
};
