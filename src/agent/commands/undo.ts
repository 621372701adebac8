import type { Change, RecordedTurn } from "../files/journal.ts";
import type { TurnFiles } from "../files/turn-files.ts";
import { Refused, type ShownContent, textContent, type ToolWork } from "../tools/agent-tool.ts";
import { wholeDiff } from "../tools/shown-diff.ts";
import type { CommandContext, SlashCommand } from "./slash-command.ts";

export const undo: SlashCommand = {
  name: "undo",
  description: "Restore the files that the last turn changed",
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
): Promise<{ left: readonly Change[]; answer: { text: string; isError?: boolean } }> {
  let left: readonly Change[] = [];
  if (changes.length === 0) return { left, answer: { text: "That turn wrote no file itself." } };
  const answer = await context.perform({
    title: `Undo changes of ${changes.length} file${changes.length === 1 ? "" : "s"}`,
    kind: "edit",
    need: "write",
    call: async (work) => {
      const { files } = work;
      const wanted = force ? changes : await agreedTo(changes, work);
      const restored = new Set<Change>();
      for (const change of changes.toReversed()) {
        if (!wanted.includes(change)) continue;
        await files.restore(change);
        restored.add(change);
      }
      left = changes.filter((change) => !restored.has(change));
      const locations = changes.map(({ path }) => ({ path }));
      const text = resultText(namesOf([...restored], files), namesOf(left, files));
      return { text, isError: left.length > 0, locations };
    },
  });
  return { left, answer };
}

/**
 * The changes that can be undone without losing a person's work: files that are as the turn left them.
 * Where somebody else may have changed a file as well, the person is asked.
 */
async function agreedTo(changes: readonly Change[], work: ToolWork): Promise<readonly Change[]> {
  const found: Change[] = [];
  for (const change of changes) if (await work.files.isAsLeft(change)) found.push(change);
  const shared = found.filter(({ isShared }) => isShared);
  if (shared.length === 0) return found;
  try {
    const content = await Promise.all(shared.map((change) => lossOf(change, work.files)));
    const names = namesOf(shared, work.files).join(", ");
    const title = `Undo, though others than the agent may have changed it as well: ${names}`;
    await work.allow({ title, content, locations: shared.map(({ path }) => ({ path })) });
    return found;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    return found.filter(({ isShared }) => !isShared);
  }
}

/** The diff that undoing would make. */
async function lossOf({ path, before }: Change, files: TurnFiles): Promise<ShownContent> {
  const target = await files.workspace.findToWrite(path);
  try {
    const now = await files.readIfThere(target);
    return wholeDiff(path, now, before?.toString("utf8") ?? "");
  } catch {
    return textContent(`${target.name} is not text; its old content would be restored.`);
  }
}

function namesOf(changes: readonly Change[], files: TurnFiles): string[] {
  return changes.map(({ path }) => files.workspace.nameOf(path));
}

function resultText(restored: readonly string[], left: readonly string[]): string {
  const done = restored.length === 0 ? "" : `Restored: ${restored.join(", ")}.`;
  if (left.length === 0) return done;
  const kept = `Not restored, since they were changed since: ${left.join(", ")}.`;
  return `${done}\n${kept} \`/undo force\` restores those, too.`.trim();
}

function commandsText({ commands }: RecordedTurn): string {
  if (commands.length === 0) return "";
  const lines = commands.map((command) => `- \`${command.split("\n")[0]}\``);
  return `\nThese commands ran in that turn; their other effects are not undone:\n${lines.join("\n")}\n`;
}
