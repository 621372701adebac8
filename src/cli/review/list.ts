import { VERSION } from "../../base/version.ts";
import { dropPlaces, severityOf, waitingDrops } from "../../review/inbox/drop-files.ts";
import { toSarif } from "../../review/transfer/transfer.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { changedLines } from "../../review/anchor/changed-lines.ts";
import { pathIn, placeOf } from "../../review/repository.ts";
import type { ReviewCommands } from "../../review/review-commands.ts";
import { type ThreadView, UNRESOLVED } from "../../review/thread-view.ts";
import type { Severity, ThreadState } from "../../store/review/review-thread.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { firstLine, linesText, print } from "../shell/layout.ts";
import { openCommands, type RepoValues } from "./open-reviews.ts";
import { tableText, threadText, whereOf } from "./thread-text.ts";

type ListValues = RepoValues &
  OptionValues<"file" | "format", "all" | "everywhere" | "menu" | "exit-code"> & {
    readonly state?: readonly ThreadState[];
    readonly severity?: readonly Severity[];
  };

/** `trunkline review list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values, data, env } = invocation;
  using commands = await openCommands(invocation);
  const gitDir = values.everywhere === true ? undefined : commands.here.gitDir;
  const states = values.state ?? (values.all === true ? undefined : UNRESOLVED);
  const names = values.file === undefined ? undefined : namesOf(commands, values.file, gitDir);
  // A renamed file is found by its current name and by its name when the comment was made.
  const isNamed = (file: string): boolean => names?.has(file) ?? true;
  const isSevere = (severity: string): boolean =>
    values.severity?.includes(severity as Severity) ?? true;
  const threads = (await commands.list({ gitDir, states })).filter(
    ({ file, original, severity }) =>
      (isNamed(file) || isNamed(original?.file ?? file)) && isSevere(severity),
  );
  // Drop files that no server has imported yet count as open.
  const isListed = gitDir !== undefined && (states?.includes("open") ?? true);
  const dropped = isListed ? waitingDrops(dropPlaces(commands.data, env), commands.here) : [];
  const waiting = dropped.filter((each) => isNamed(each.file) && isSevere(severityOf(each)));
  const code = values["exit-code"] === true && threads.length + waiting.length > 0 ? 1 : 0;
  const notes = waiting.map(({ file, line, comment }) => {
    const where = `${visibleLine(file)}${line === undefined ? "" : `:${line}`}`;
    return `In the inbox, until a server runs: ${where}  ${firstLine(comment)}`;
  });
  if (values.menu === true) {
    return print(invocation, { threads }, threads.map(menuLine).join(""), { code });
  }
  const { format } = values;
  if (format === "sarif" && values.json !== true) {
    data(toSarif(threads, commands.repository?.root ?? commands.folder, VERSION));
    return code;
  }
  if (format !== undefined) {
    const lines = threads.map(format === "quickfix" ? quickfixLine : annotation);
    return print(invocation, { threads }, linesText(lines), { code, notes });
  }
  const where = values.file === undefined ? "" : ` on '${visibleLine(values.file)}'`;
  const none = `There are no threads${where}. \`trunkline review add --file FILE --line N\` opens one.`;
  const isNone = threads.length === 0;
  const text = isNone ? "" : tableText(threads, invocation.edge);
  return print(invocation, { threads, ...(waiting.length === 0 ? {} : { waiting }) }, text, {
    notes: isNone && notes.length === 0 ? [none] : notes,
    code,
  });
}

/** What editors read into a list of places: `FILE:LINE: [SEVERITY] TEXT (ID)`. */
function quickfixLine({ file, line = 1, severity, comment, id }: ThreadView): string {
  return `${visibleLine(file)}:${line}: [${severity}] ${firstLine(comment)} (${id})`;
}

const LEVELS: Readonly<Record<string, string>> = { must: "error", should: "warning" };

/** A workflow command of GitHub Actions, whose runner shows it at its line. */
function annotation({ file, line = 1, end = line, severity, comment, id }: ThreadView): string {
  const escaped = (text: string): string =>
    text.replaceAll("%", "%25").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
  const value = (text: string): string =>
    escaped(text).replaceAll(":", "%3A").replaceAll(",", "%2C");
  const place = `file=${value(file)},line=${line},endLine=${end},title=${value(`${id} (${severity})`)}`;
  return `::${LEVELS[severity] ?? "notice"} ${place}::${escaped(comment)}`;
}

/** A line that a menu can split at the colon: `ID:text`. */
function menuLine(thread: ThreadView): string {
  const { id, state, comment } = thread;
  return `${id}:${state} ${whereOf(thread)} ${firstLine(comment)}\n`;
}

/** `trunkline review show ID` */
export async function show(
  invocation: Invocation<RepoValues & OptionValues<never, "patch">>,
): Promise<number> {
  const { values, positionals, data } = invocation;
  const [id = ""] = positionals;
  using commands = await openCommands(invocation);
  if (values.patch === true) {
    data((await commands.suggested(id)).patch);
    return 0;
  }
  const thread = await commands.show(id);
  return print(invocation, thread, threadText(thread));
}

/** The paths under which threads may have a file that a person named. The path of a deleted file is relative to the root. */
function namesOf(
  { here, folder }: ReviewCommands,
  file: string,
  gitDir: string | undefined,
): ReadonlySet<string> {
  return new Set(gitDir === undefined ? [file] : [file, pathIn(here, folder, file)]);
}

const SIGNS = { added: "+", removed: "-", same: " " } as const;

/** `trunkline review lines FILE` */
export async function lines(
  invocation: Invocation<OptionValues<"repo" | "commit">>,
): Promise<number> {
  const { values, positionals } = invocation;
  using commands = await openCommands(invocation);
  const { repository, path } = placeOf(commands.here, commands.folder, positionals[0] ?? "");
  const found = await changedLines(repository, path, values.commit);
  const shown = found.map(({ line, side, change, text }) => {
    const number = side === "old" ? -line : line;
    return `${number}:${SIGNS[change]} ${visibleLine(text.replaceAll("\t", "    "))}\n`;
  });
  return print(invocation, { lines: found }, shown.join(""));
}
