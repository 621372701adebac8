import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { reasonOf, replacedBy, reviewOf } from "../../authorship/explain-line.ts";
import { LineTracer } from "../../authorship/line-tracer.ts";
import { countLines } from "../../authorship/count-lines.ts";
import { WorkHistory, type WorkStep } from "../../authorship/work-history.ts";
import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";
import { Reviews } from "../../store/review/reviews.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { firstLine, print, table } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";

type CommitValues = OptionValues<"commit">;

/** `trunkline why FILE:LINE` */
export async function why(invocation: Invocation<CommitValues>): Promise<number> {
  const { positionals, values } = invocation;
  const [, file = "", number = ""] = /^(.+):(\d+)$/.exec(positionals[0] ?? "") ?? [];
  const line = Number(number);
  if (!(line >= 1)) {
    throw new TrunklineError("usage", `Name a line as FILE:LINE, not '${positionals[0] ?? ""}'.`);
  }
  const { config } = await openQuietApp(invocation);
  const { history, path } = historyOf(config.data, resolve(invocation.cwd, file));
  const [source] = await new LineTracer(history).trace(path, {
    range: { first: line, last: line },
    commit: values.commit,
  });
  if (source === undefined) throw new TrunklineError("not-found", `'${file}' has no line ${line}.`);
  await using commands = await SessionCommands.open(config.data);
  using reviews = await Reviews.open(config.data);
  const session = await commands.find(source.step.session ?? "").catch(() => undefined);
  const reason = session && (await reasonOf(source, commands.events(session.id)));
  const replaced = await replacedBy(history, source);
  const commit = source.commit ?? (await history.commitOf(path, line));
  const { author, committer } = (commit && (await history.commit(commit))) || {};
  const thread = await reviewOf(reviews, history.commonDir, path, commit, reason);
  const review = thread && { id: thread.id, by: thread.by, comment: thread.comment };
  const { certain } = source;
  const { prompt, permission } = reason ?? {};
  const step = shownStep({ agent: session?.agent, ...source.step });
  const shown = {
    ...step,
    prompt,
    permission,
    review,
    replaced,
    certain,
    commit,
    author,
    committer,
  };
  const title = session?.title === undefined ? "" : ` "${visibleLine(session.title)}"`;
  const rows = [
    ["line", source.text.trim()],
    ["written by", writer(step, author)],
    ["session", step.session && step.session + title],
    ["prompt", prompt && maskText(prompt)],
    [
      "allowed by",
      permission && `${permission.by} (${permission.outcome}): ${permission.title ?? ""}`,
    ],
    ["asked by", review && `${review.by} in ${review.id}: ${maskText(review.comment)}`],
    ...replaced.map((text, at) => [at === 0 ? "replaced" : "", text.trim()]),
    ["committed", commit === undefined ? "not yet" : `${commit.slice(0, 12)} ${author}`],
    ["", committer === author ? undefined : `by ${committer}`],
    ["certain", certain ? "yes" : "no: others may have written it, or it changed on its way"],
  ];
  const told = rows.flatMap(([name = "", value]) =>
    value === undefined ? [] : [[name, firstLine(value)]],
  );
  return print(invocation, shown, table(told));
}

/** `trunkline blame FILE` */
export async function blame(invocation: Invocation<CommitValues>): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const file = resolve(invocation.cwd, invocation.positionals[0] ?? "");
  const { history, path } = historyOf(config.data, file);
  const lines = await new LineTracer(history).trace(path, { commit: invocation.values.commit });
  const rows = await Promise.all(
    lines.map(async ({ step, commit, certain, text }, at) => {
      const id = visibleLine(step.session ?? commit ?? "").slice(0, 8);
      const doubt = certain ? "" : "?";
      const author = commit === undefined ? undefined : (await history.commit(commit)).author;
      return [id, writer(step, author) + doubt, String(at + 1), visibleLine(text)];
    }),
  );
  const shown = lines.map(({ text, step, commit, certain }, at) => {
    const named = commit === undefined ? {} : { commit };
    return { line: at + 1, text, ...shownStep(step), ...named, certain };
  });
  return print(invocation, { path, lines: shown }, table(rows));
}

/** `trunkline stats [FOLDER]` */
export async function stats(invocation: Invocation): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const folder = resolve(invocation.cwd, invocation.positionals[0] ?? ".");
  const { history, path } = historyOf(config.data, folder);
  const { agents, people, files } = await countLines(history, path);
  const rows = [
    ["LINES", "CERTAIN", "WRITTEN BY"],
    ...[...agents, ...people].map(({ agent, model, name, lines, certain }) => {
      const who = [agent, model, name].filter(Boolean).join(" ");
      return [String(lines), String(certain), visibleLine(who)];
    }),
  ];
  return print(invocation, { agents, people, files }, table(rows));
}

type ShownStep = { readonly [Name in keyof WorkStep]: WorkStep[Name] | undefined };

/** The history of the work tree that a path is in, and the path in it. */
function historyOf(data: string, path: string): { history: WorkHistory; path: string } {
  const folder = statSync(path, { throwIfNoEntry: false })?.isDirectory() ? path : dirname(path);
  const history = existsSync(folder) ? WorkHistory.of(data, folder) : undefined;
  if (history === undefined) {
    throw new TrunklineError("not-found", `'${path}' is not in a git repository.`);
  }
  const real = join(realpathSync(folder), relative(folder, path));
  return { history, path: relative(history.root, real) };
}

function writer({ by, agent = "an agent", model }: ShownStep, author = "a commit"): string {
  if (by === "agent") return visibleLine(model === undefined ? agent : `${agent} (${model})`);
  if (by === "commit") return visibleLine(author);
  return by === "person" ? "a person" : "unknown";
}

/** What there is to say of a step, without how it is stored. */
function shownStep({ by, session, turn, call, agent, model }: ShownStep) {
  return { by, session, turn, call, agent, model };
}
