import { allowCommit } from "../tools/commit-consent.ts";
import { commit as commitStaged, git } from "../tools/git-tools.ts";
import { fencedBlock } from "../tools/shown-content.ts";
import type { SlashCommand } from "./slash-command.ts";
import { workingChanges } from "../files/workspace-git.ts";

export const commit: SlashCommand = {
  name: "commit",
  description: "Commit what is staged; with nothing staged, all that has changed",
  hint: "[MESSAGE]",
  run: async (input, context) => {
    const answer = await context.perform({
      title: "git commit",
      kind: "execute",
      need: "write",
      timeout: 300_000,
      call: async (work) => {
        const changes = await workingChanges(work.files, work.stop);
        const staged = changes.filter(({ status }) => !/^[ ?]/.test(status));
        const wanted = staged.length > 0 ? staged : changes;
        if (wanted.length === 0) return { text: "There is nothing to commit.", isError: true };
        const names = wanted.map(({ name }) => name);
        const message = input === "" ? messageFor(wanted) : input;
        const title = `git commit of ${listText(names)}: ${message.split("\n")[0]}`;
        await allowCommit(work, { title, message, names });
        if (staged.length === 0)
          await git(work, ["add", "--", ...wanted.map(({ path }) => path)], "write");
        return { text: await commitStaged(work, message) };
      },
    });
    await context.speaker.text(fencedBlock(answer.text));
  },
};

/** A message that names the files, which is all that is known without a model. */
function messageFor(
  changes: readonly { readonly name: string; readonly isNew: boolean }[],
): string {
  const verb = changes.every(({ isNew }) => isNew) ? "Add" : "Change";
  return `${verb} ${listText(changes.map(({ name }) => name))}`;
}

function listText(names: readonly string[]): string {
  const [first = "", second = ""] = names;
  if (names.length <= 2) return names.join(" and ");
  return `${first}, ${second} and ${names.length - 2} more`;
}
