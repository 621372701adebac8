import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { explainLine, shownStep, toldExplanation, writer } from "../../authorship/explain-line.ts";
import { traceRecord } from "../../authorship/agent-trace.ts";
import { NOTES_REF } from "../../authorship/git-ai-note.ts";
import { LineTracer } from "../../authorship/line-tracer.ts";
import { countLines } from "../../authorship/count-lines.ts";
import { WorkHistory } from "../../authorship/work-history.ts";
import { writeNotes } from "../../authorship/write-notes.ts";
import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { firstLine, linesText, print, table } from "../shell/layout.ts";
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
  const { commit } = values;
  const explained = await explainLine({ data: config.data, history, path, line, commit });
  const rows = toldExplanation(explained).flatMap(([name, value]) => {
    const lines = name === "replaced" ? value.split("\n") : [value];
    return lines.map((text, at) => [at === 0 ? name : "", firstLine(text)]);
  });
  return print(invocation, explained, table(rows));
}

/** `trunkline blame FILE` */
export async function blame(
  invocation: Invocation<CommitValues & OptionValues<never, "agent-trace">>,
): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const file = resolve(invocation.cwd, invocation.positionals[0] ?? "");
  const { history, path } = historyOf(config.data, file);
  const { commit: named, "agent-trace": isTrace = false } = invocation.values;
  const revision = isTrace ? await history.head(named) : named;
  const lines = await new LineTracer(history).trace(path, { commit: revision });
  if (isTrace) {
    if (revision === undefined) {
      const why = named === undefined ? "nothing is committed" : `there is no commit '${named}'`;
      throw new TrunklineError("not-found", `Cannot print a record of '${path}': ${why}.`);
    }
    invocation.out(`${JSON.stringify(traceRecord(path, revision, lines))}\n`);
    return 0;
  }
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

/** `trunkline notes [ACTION] [FOLDER]` */
export async function notes(invocation: Invocation): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const [action, folder = "."] = invocation.positionals;
  const { history } = historyOf(config.data, resolve(invocation.cwd, folder));
  if (action === "on") history.notesSince ??= Date.now();
  if (action === "off") history.notesSince = undefined;
  const isOn = history.notesSince !== undefined;
  const { root } = history;
  if (action === "write" && !isOn) {
    const next = "Say yes with `trunkline notes on` first";
    throw new TrunklineError("usage", `Notes are not written in '${root}'. ${next}.`);
  }
  const { written, kept } =
    action === "write" ? await writeNotes(history) : { written: [], kept: [] };
  const said =
    action === "write"
      ? [`${written.length} notes written, and ${kept.length} kept that were there.`]
      : [`Notes are ${isOn ? "" : "not "}written in '${root}'.`];
  if (isOn) said.push(`Share them yourself: git push origin ${NOTES_REF}`);
  return print(invocation, { repository: root, isOn, written, kept }, linesText(said));
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
