import { visibleLine } from "../../base/text/visible.ts";
import { changedLines } from "../../review/anchor/changed-lines.ts";
import { pathIn, placeOf } from "../../review/repository.ts";
import type { ReviewCommands } from "../../review/review-commands.ts";
import { type ThreadView, UNRESOLVED } from "../../review/thread-view.ts";
import type { ThreadState } from "../../store/review/review-thread.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { firstLine, print } from "../shell/layout.ts";
import { openCommands, type RepoValues } from "./open-reviews.ts";
import { tableText, threadText, whereOf } from "./thread-text.ts";

type ListValues = RepoValues &
  OptionValues<"file", "all" | "everywhere" | "menu"> & { readonly state?: readonly ThreadState[] };

/** `trunkline review list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values } = invocation;
  using commands = await openCommands(invocation);
  const gitDir = values.everywhere === true ? undefined : commands.here.gitDir;
  const states = values.state ?? (values.all === true ? undefined : UNRESOLVED);
  const names = values.file === undefined ? undefined : namesOf(commands, values.file, gitDir);
  // A renamed file is found by its current name and by its name when the comment was made.
  const isWanted = ({ file, original }: Pick<ThreadView, "file" | "original">): boolean =>
    names === undefined || names.has(file) || names.has(original?.file ?? file);
  const threads = (await commands.list({ gitDir, states })).filter(isWanted);
  if (values.menu === true) return print(invocation, { threads }, threads.map(menuLine).join(""));
  const where = values.file === undefined ? "" : ` on '${visibleLine(values.file)}'`;
  const none = `There are no threads${where}. \`trunkline review add --file FILE --line N\` opens one.`;
  const isNone = threads.length === 0;
  const text = isNone ? "" : tableText(threads, invocation.edge);
  return print(invocation, { threads }, text, { notes: isNone ? [none] : [] });
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
