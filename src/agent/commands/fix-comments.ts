import { changeFile } from "../tools/change-file.ts";
import type {
  CommandContext,
  ReviewComment,
  ReviewComments,
  SlashCommand,
} from "./slash-command.ts";

export const fixComments: SlashCommand = {
  name: "fix-comments",
  description: "Apply the suggestions of open review comments",
  hint: "[ID …]",
  run: async (input, context) => {
    const { reviews, speaker, files } = context;
    if (reviews === undefined) {
      await speaker.text("There are no reviews here: they are not part of this installation.\n");
      return;
    }
    const wanted = input.split(/\s+/).filter((word) => word !== "");
    const open = await reviews.open(files.workspace.cwd);
    const chosen = open.filter(
      ({ id }) => wanted.length === 0 || wanted.some((each) => id.startsWith(each)),
    );
    if (chosen.length === 0) {
      await speaker.text(
        open.length === 0 ? "No review comment is open.\n" : "No open comment has such an id.\n",
      );
      return;
    }
    await planOf(chosen, new Map(), context);
    const results = new Map<string, Result>();
    for (const comment of chosen) {
      results.set(comment.id, await fix(comment, reviews, context));
      await planOf(chosen, results, context);
    }
    await speaker.text(`${summary(chosen, results)}\n`);
  },
};

interface Result {
  readonly isDone: boolean;
  readonly says: string;
}

async function fix(
  comment: ReviewComment,
  reviews: ReviewComments,
  context: CommandContext,
): Promise<Result> {
  if (!comment.hasSuggestion) {
    return {
      isDone: false,
      says: "it has no suggestion that could be applied; it needs somebody who understands it",
    };
  }
  const { cwd } = context.files.workspace;
  const answer = await context.perform({
    title: `Apply the suggestion for ${whereText(comment, context)}`,
    kind: "edit",
    need: "write",
    call: async (work) => {
      const { path, text } = await reviews.suggested(cwd, comment.id);
      const target = await work.files.workspace.findToWrite(path);
      const old = await work.files.read(target);
      const answer = await changeFile(work, target, { old, text });
      await reviews.done(cwd, comment.id, "Applied the suggestion as it stands.");
      return answer;
    },
  });
  return { isDone: answer.isError !== true, says: answer.text };
}

async function planOf(
  comments: readonly ReviewComment[],
  results: ReadonlyMap<string, Result>,
  context: CommandContext,
): Promise<void> {
  const entries = comments.map((comment) => ({
    content: `${whereText(comment, context)}: ${firstLine(comment.comment)}`,
    priority: "medium",
    status: results.has(comment.id) ? "completed" : "pending",
  }));
  await context.speaker.plan(entries);
}

function summary(comments: readonly ReviewComment[], results: ReadonlyMap<string, Result>): string {
  const done = comments.filter(({ id }) => results.get(id)?.isDone === true);
  const lines = comments.map(({ id, comment }) => {
    const { isDone = false, says = "" } = results.get(id) ?? {};
    return `- ${isDone ? "Applied" : "Not applied"}: ${firstLine(comment)} (${id}): ${says}`;
  });
  return [`Applied ${done.length} of ${comments.length}.`, "", ...lines].join("\n");
}

function whereText({ path, line }: ReviewComment, { files }: CommandContext): string {
  return `${files.workspace.nameOf(path)}${line === undefined ? "" : `:${line}`}`;
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n");
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}
