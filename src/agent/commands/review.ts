import { maskText } from "../../base/text/mask.ts";
import { unquotedName } from "../../base/text/patch-names.ts";
import { workingChanges } from "../files/workspace-git.ts";
import type { ToolWork } from "../tools/agent-tool.ts";
import { changeFiles } from "../tools/edit-tools.ts";
import { git } from "../tools/git-tools.ts";
import { fencedBlock } from "../tools/tool-runner.ts";
import { readProject, runStep } from "./project-commands.ts";
import type {
  CommandContext,
  ReviewComment,
  ReviewComments,
  SlashCommand,
} from "./session-commands.ts";

const SUSPICIOUS: readonly (readonly [RegExp, string])[] = [
  [/^(?:<{7}|={7}|>{7})(?: |$)/, "a merge conflict marker"],
  [
    /\bconsole\.(?:log|debug)\(|\bdebugger\b|\bdbg!\(|\bbreakpoint\(\)|\bpdb\.set_trace\(/,
    "debugging code",
  ],
  [/\b(?:describe|it|test)\.only\(/, "a test that disables all others"],
  [/\b(?:TODO|FIXME|XXX)\b/, "a TODO comment"],
  [/[ \t]$/, "trailing whitespace"],
];

const MOST_FINDINGS = 200;

export const review: SlashCommand = {
  name: "review",
  description: "Check what has changed since the last commit, by fixed rules and the linter",
  run: async (_, context) => {
    const answer = await context.perform({
      title: "Review the changes",
      kind: "search",
      need: "nothing",
      call: async (work) => {
        const findings = (await findAll(work)).slice(0, MOST_FINDINGS);
        const lines = findings.map(({ name, line, says }) => `${name}:${line}: ${says}`);
        const text = lines.length === 0 ? "The rules found nothing." : lines.join("\n");
        return { text, locations: findings.slice(0, 50).map(({ path, line }) => ({ path, line })) };
      },
    });
    await context.speaker.text(`${fencedBlock(answer.text)}${await openComments(context)}`);
    const { lint } = await readProject(context.files);
    if (lint === undefined) return undefined;
    const linted = await runStep(context, lint);
    return `\nThe linter (\`${lint}\`):\n\n${fencedBlock(linted.text.slice(-4_000))}`;
  },
};

/** What is in changed lines and usually not meant to be committed. */
async function findAll(work: ToolWork) {
  const changes = await workingChanges(work.files, work.signal);
  const args = ["diff", "--no-color", "--no-prefix", "-U0", "--relative", "HEAD", "--", "."];
  const findings = addedLines(await git(work, args)).flatMap(({ name, line, text }) => {
    const path = `${work.files.workspace.cwd}/${name}`;
    return complaints(text).map((says) => ({ path, name, line, says }));
  });
  for (const { path, name } of changes.filter(({ isNew }) => isNew)) {
    const text = await textOf(work, path);
    for (const [index, line] of (text ?? "").split("\n").entries()) {
      findings.push(...complaints(line).map((says) => ({ path, name, line: index + 1, says })));
    }
  }
  return findings;
}

async function textOf(work: ToolWork, path: string): Promise<string | undefined> {
  const target = await work.files.workspace.find(path).catch(() => undefined);
  return target && (await work.files.readIfThere(target).catch(() => undefined));
}

/** The added lines of a diff without context lines. */
function addedLines(diff: string): { name: string; line: number; text: string }[] {
  const added: { name: string; line: number; text: string }[] = [];
  let name = "";
  let line = 0;
  let left = 0;
  for (const text of diff.split("\n")) {
    const [, start, count = "1"] = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(text) ?? [];
    if (start !== undefined) {
      line = Number(start);
      left = Number(count);
    } else if (left > 0 && text.startsWith("+")) {
      added.push({ name, line: line++, text: text.slice(1) });
      left--;
    } else if (left === 0 && text.startsWith("+++ ")) name = unquotedName(text.slice(4));
  }
  return added;
}

function complaints(line: string): string[] {
  const found = SUSPICIOUS.filter(([pattern]) => pattern.test(line)).map(([, says]) => says);
  const isSecret = line.length < 4_000 && maskText(line) !== line;
  return isSecret ? [...found, "looks like a secret"] : found;
}

async function openComments({ reviews, files }: CommandContext): Promise<string> {
  const open = (await reviews?.open(files.workspace.cwd).catch(() => [])) ?? [];
  if (open.length === 0) return "";
  const lines = open.map((each) => {
    return `- ${whereText(each, files)}: ${each.comment.split("\n")[0]} (${each.id})`;
  });
  return `\nOpen review comments:\n${lines.join("\n")}\n`;
}

export const fixComments: SlashCommand = {
  name: "fix-comments",
  description: "Apply the suggestions of open review comments",
  hint: "[ID …]",
  run: async (input, context) => {
    const { reviews, files } = context;
    if (reviews === undefined) {
      return "There are no reviews here: they are not part of this installation.\n";
    }
    const wanted = input.split(/\s+/).filter((word) => word !== "");
    const open = await reviews.open(files.workspace.cwd);
    const chosen = open.filter(
      ({ id }) => wanted.length === 0 || wanted.some((each) => id.startsWith(each)),
    );
    if (open.length === 0) return "No review comment is open.\n";
    if (chosen.length === 0) return "No open comment has such an id.\n";
    await planOf(chosen, new Map(), context);
    const results = new Map<string, FixOutcome>();
    for (const comment of chosen) {
      results.set(comment.id, await fix(comment, reviews, context));
      await planOf(chosen, results, context);
    }
    return `${summary(chosen, results)}\n`;
  },
};

type FixOutcome = Awaited<ReturnType<typeof fix>>;

async function fix(comment: ReviewComment, reviews: ReviewComments, context: CommandContext) {
  if (!comment.hasSuggestion) {
    const why = "it needs somebody who understands it";
    return { isDone: false, says: `it has no suggestion that could be applied; ${why}` };
  }
  const { cwd } = context.files.workspace;
  const answer = await context.perform({
    title: `Apply the suggestion for ${whereText(comment, context.files)}`,
    kind: "edit",
    need: "write",
    call: async (work) => {
      const { path, text } = await reviews.suggested(cwd, comment.id);
      const target = await work.files.workspace.findToWrite(path);
      const old = await work.files.read(target);
      const answer = await changeFiles(work, [{ target, old, text }]);
      await reviews.done(cwd, comment.id, "Applied the suggestion as it stands.");
      return answer;
    },
  });
  return { isDone: answer.isError !== true, says: answer.text };
}

async function planOf(
  comments: readonly ReviewComment[],
  results: ReadonlyMap<string, FixOutcome>,
  context: CommandContext,
): Promise<void> {
  const entries = comments.map((comment) => ({
    content: `${whereText(comment, context.files)}: ${firstLine(comment.comment)}`,
    priority: "medium",
    status: results.has(comment.id) ? "completed" : "pending",
  }));
  await context.speaker.plan(entries);
}

function summary(
  comments: readonly ReviewComment[],
  results: ReadonlyMap<string, FixOutcome>,
): string {
  const done = comments.filter(({ id }) => results.get(id)?.isDone === true);
  const lines = comments.map(({ id, comment }) => {
    const { isDone = false, says = "" } = results.get(id) ?? {};
    return `- ${isDone ? "Applied" : "Not applied"}: ${firstLine(comment)} (${id}): ${says}`;
  });
  return [`Applied ${done.length} of ${comments.length}.`, "", ...lines].join("\n");
}

function whereText({ path, line }: ReviewComment, files: CommandContext["files"]): string {
  return `${files.workspace.nameOf(path)}${line === undefined ? "" : `:${line}`}`;
}

function firstLine(text: string): string {
  const [line = ""] = text.split("\n");
  return line.length > 120 ? `${line.slice(0, 120)}…` : line;
}
