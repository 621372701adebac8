import type { RecordedTurn } from "../files/journal.ts";
import type { CommandContext, SlashCommand } from "./slash-command.ts";

export const undo: SlashCommand = {
  name: "undo",
  description: "Make the files of the last turn what they were before it",
  hint: "[force]",
  run: async (input, context) => {
    const { journal, speaker } = context;
    const last = await journal.last();
    if (last === undefined) {
      await speaker.text("There is nothing to undo: no turn of this session has changed a file.\n");
      return;
    }
    const { left, answer } = await restoreAll(last, input === "force", context);
    if (answer.isError !== true && left.length === 0) await journal.forget(last);
    await speaker.text(`${answer.text}\n${commandsText(last)}`);
  },
};

async function restoreAll(
  { changes }: RecordedTurn,
  force: boolean,
  context: CommandContext,
): Promise<{ left: string[]; answer: { text: string; isError?: boolean } }> {
  const left: string[] = [];
  if (changes.length === 0) return { left, answer: { text: "That turn wrote no file itself." } };
  const answer = await context.perform({
    title: `Undo changes of ${changes.length} file${changes.length === 1 ? "" : "s"}`,
    kind: "edit",
    need: "write",
    call: async ({ files }) => {
      const restored: string[] = [];
      for (const change of changes.toReversed()) {
        const name = files.places.nameOf(change.path);
        if (await files.restore(change, force)) restored.push(name);
        else left.push(name);
      }
      const locations = changes.map(({ path }) => ({ path }));
      return { text: resultText(restored, left), isError: left.length > 0, locations };
    },
  });
  return { left, answer };
}

function resultText(restored: readonly string[], left: readonly string[]): string {
  const done = restored.length === 0 ? "" : `As before: ${restored.join(", ")}.`;
  if (left.length === 0) return done;
  const kept = `Left alone, since somebody has changed them since: ${left.join(", ")}.`;
  return `${done}\n${kept} \`/undo force\` undoes those, too.`.trim();
}

function commandsText({ commands }: RecordedTurn): string {
  if (commands.length === 0) return "";
  const lines = commands.map((command) => `- \`${command.split("\n")[0]}\``);
  return `\nThese commands ran in that turn; what they did beyond that is not undone:\n${lines.join("\n")}\n`;
}
