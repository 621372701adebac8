import { git } from "../tools/git-tools.ts";
import { shownDiff } from "../tools/shown-diff.ts";
import type { ShownContent } from "../tools/agent-tool.ts";
import { fencedBlock } from "../tools/shown-content.ts";
import type { CommandContext, SlashCommand } from "./slash-command.ts";
import { committedText, workingChanges } from "../files/workspace-git.ts";

const MOST_FILES = 20;
/** Characters of diffs in one update. */
const MOST_SHOWN = 60_000;

export const diff: SlashCommand = {
  name: "diff",
  description: "Show what has changed since the last commit",
  run: async (_, context) => {
    const answer = await context.perform({
      title: "git diff",
      kind: "read",
      need: "nothing",
      call: async (work) => {
        const changes = await workingChanges(work.files, work.stop);
        if (changes.length === 0) return { text: "Nothing has changed since the last commit." };
        const content = await shownChanges(changes.slice(0, MOST_FILES), context);
        const locations = changes.slice(0, MOST_FILES).map(({ path }) => ({ path }));
        const status = changes.map(({ status, name }) => `${status} ${name}`).join("\n");
        const stat = await git(work, ["diff", "--stat", "--no-color", "HEAD", "--", "."]).catch(
          () => "",
        );
        return { text: `${status}\n\n${stat}`.trimEnd(), content, locations };
      },
    });
    await context.speaker.text(fencedBlock(answer.text));
  },
};

async function shownChanges(
  changes: readonly { readonly path: string }[],
  { files }: CommandContext,
): Promise<ShownContent[]> {
  const content: ShownContent[] = [];
  let size = 0;
  for (const { path } of changes) {
    try {
      const old = await committedText(files, path);
      const text = (await files.readIfThere(await files.workspace.find(path))) ?? "";
      const shown = shownDiff(path, old, text);
      if ((size += JSON.stringify(shown).length) > MOST_SHOWN) break;
      content.push(shown);
    } catch {
      // For example a binary file: it is listed, but not shown.
    }
  }
  return content;
}
