import { join } from "node:path";

import type { ReviewComments } from "../../agent/commands/slash-command.ts";
import { ReviewCommands } from "../../review/review-commands.ts";

const BY = "trunkline";

/** The reviews of the data folder as commands use them. */
export function reviewComments(data: string): ReviewComments {
  return {
    async open(folder) {
      using commands = await ReviewCommands.open(data, folder);
      if (commands.repository === undefined) return [];
      const { gitDir, root } = commands.repository;
      const threads = await commands.list({ gitDir, states: ["open", "reopened"] });
      return threads.map(({ id, file, line, comment, suggestion }) => ({
        id,
        path: join(root, file),
        ...(line === undefined ? {} : { line }),
        comment,
        hasSuggestion: suggestion !== undefined,
      }));
    },
    async suggested(folder, id) {
      using commands = await ReviewCommands.open(data, folder);
      const { path, content } = await commands.suggested(id);
      return { path: join(commands.here.root, path), text: content.toString("utf8") };
    },
    async done(folder, id, text) {
      using commands = await ReviewCommands.open(data, folder);
      await commands.propose(id, { by: BY, role: "agent", text, proposal: { text } });
    },
  };
}
