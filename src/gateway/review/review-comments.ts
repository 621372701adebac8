import { join } from "node:path";

import type { ReviewComments } from "../../agent/commands/review-comments.ts";
import { ReviewDesk } from "../../review/review-commands.ts";

const BY = "trunkline";

/** The reviews of the data folder as commands use them. */
export function reviewComments(data: string): ReviewComments {
  return {
    async open(folder) {
      using desk = await ReviewDesk.open(data, folder);
      if (desk.repository === undefined) return [];
      const { gitDir, root } = desk.repository;
      const threads = await desk.list({ gitDir, states: ["open", "reopened"] });
      return threads.map(({ id, file, line, comment, suggestion }) => ({
        id,
        path: join(root, file),
        ...(line === undefined ? {} : { line }),
        comment,
        hasSuggestion: suggestion !== undefined,
      }));
    },
    async suggested(folder, id) {
      using desk = await ReviewDesk.open(data, folder);
      const { path, content } = await desk.suggested(id);
      return { path: join(desk.here.root, path), text: content.toString("utf8") };
    },
    async done(folder, id, text) {
      using desk = await ReviewDesk.open(data, folder);
      await desk.propose(id, { by: BY, role: "agent", text, proposal: { text } });
    },
  };
}
