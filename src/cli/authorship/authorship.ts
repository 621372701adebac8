import { existsSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

import { reasonOf, replacedBy } from "../../authorship/explain-line.ts";
import { type LineSource, LineTracer } from "../../authorship/line-tracer.ts";
import { countLines } from "../../authorship/count-lines.ts";
import { WorkHistory } from "../../authorship/work-history.ts";
import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { SessionCommands } from "../../session/open/session-commands.ts";
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
  const [source] = await new LineTracer(history).trace(
    path,
    { first: line, last: line },
    values.commit,
  );
  if (source === undefined) throw new TrunklineError("not-found", `'${file}' has no line ${line}.`);
  const { step, certain } = source;
  await using commands = await SessionCommands.open(config.data);
  const session = await commands.find(step.session ?? "").catch(() => undefined);
  const reason = session === undefined ? {} : await reasonOf(source, commands.events(session.id));
  const replaced = await replacedBy(history, source);
  const commit = await committed(history, path, line, source);
  const shown = { ...step, ...reason, replaced, certain, ...commit };
  const { prompt, permission } = reason;
  const title = session?.title === undefined ? "" : ` "${visibleLine(session.title)}"`;
  const rows = [
    ["line", visibleLine(source.text.trim())],
    ["written by", writer(source, commit?.author)],
    ...(step.session === undefined ? [] : [["session", `${step.session}${title}`]]),
    ...(prompt === undefined ? [] : [["prompt", firstLine(maskText(prompt))]]),
    ...(permission === undefined
      ? []
      : [["allowed by", `${permission.by} (${permission.outcome}): ${permission.title ?? ""}`]]),
    ...replaced.map((text, at) => [at === 0 ? "replaced" : "", visibleLine(text.trim())]),
    [
      "committed",
      commit === undefined ? "not yet" : `${commit.commit.slice(0, 12)} ${commit.author}`,
    ],
    ["certain", certain ? "yes" : "no: the line was formatted, or its commit came from elsewhere"],
  ];
  return print(invocation, shown, table(rows));
}

/** `trunkline blame FILE` */
export async function blame(invocation: Invocation<CommitValues>): Promise<number> {
  const { config } = await openQuietApp(invocation);
  const file = resolve(invocation.cwd, invocation.positionals[0] ?? "");
  const { history, path } = historyOf(config.data, file);
  const lines = await new LineTracer(history).trace(path, undefined, invocation.values.commit);
  const authors = await authorsOf(history, lines);
  const rows = lines.map((source, at) => {
    const id = (source.step.session ?? source.commit ?? "").slice(0, 8);
    const doubt = source.certain ? "" : "?";
    const author = authors.get(source.commit ?? "");
    return [id, writer(source, author) + doubt, String(at + 1), visibleLine(source.text)];
  });
  const shown = lines.map(({ text, step, commit, certain }, at) => {
    return { line: at + 1, text, ...step, ...(commit === undefined ? {} : { commit }), certain };
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
    ["LINES", "WRITTEN BY"],
    ...agents.map(({ lines, agent, model }) => [
      String(lines),
      [agent, model].filter(Boolean).join(" "),
    ]),
    [String(people), "people, and agents that were not recorded"],
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

function writer({ step }: LineSource, author?: string): string {
  const { by, agent = "an agent", model } = step;
  if (by === "agent") return model === undefined ? agent : `${agent} (${model})`;
  if (by === "commit") return author ?? "a commit";
  return by === "person" ? "a person" : "unknown";
}

/** The commit that has the line, and who made it. */
async function committed(
  history: WorkHistory,
  path: string,
  line: number,
  source: LineSource,
): Promise<{ commit: string; author: string } | undefined> {
  const commit = source.commit ?? (await history.commitOf(path, line));
  if (commit === undefined) return undefined;
  const author = await history.git.text(["log", "-1", "--format=%an <%ae>", commit]);
  return { commit, author };
}

async function authorsOf(
  history: WorkHistory,
  lines: readonly LineSource[],
): Promise<Map<string, string>> {
  const commits = new Set(lines.flatMap(({ commit }) => (commit === undefined ? [] : [commit])));
  if (commits.size === 0) return new Map();
  const args = ["log", "--no-walk=unsorted", "--format=%H %an", "--stdin"];
  const said = await history.git.text(args, { input: [...commits].join("\n") });
  return new Map(
    said
      .split("\n")
      .map((row) => [row.slice(0, row.indexOf(" ")), row.slice(row.indexOf(" ") + 1)]),
  );
}
