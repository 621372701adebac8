import { visibleLine } from "../../base/text/visible.ts";
import { changedLines } from "../../review/anchor/changed-lines.ts";
import { pathIn, placeOf } from "../../review/repository.ts";
import type { ReviewCommands } from "../../review/review-commands.ts";
import type { ThreadView } from "../../review/thread-view.ts";
import type { ThreadState } from "../../store/review/review-thread.ts";
import type { Invocation } from "../shell/command.ts";
import { firstLine } from "../shell/layout.ts";
import { openCommands, type RepoValues } from "./open-reviews.ts";
import { tableText, threadText, whereOf } from "./thread-text.ts";

interface ListValues extends RepoValues {
  readonly state?: readonly ThreadState[];
  readonly all?: boolean;
  readonly everywhere?: boolean;
  readonly file?: string;
  readonly menu?: boolean;
}

const UNRESOLVED: readonly ThreadState[] = ["open", "claimed", "answered", "proposed", "reopened"];

/** `trunkline review list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values, out, err } = invocation;
  using commands = await openCommands(invocation);
  const gitDir = values.everywhere === true ? undefined : commands.here.gitDir;
  const states = values.state ?? (values.all === true ? undefined : UNRESOLVED);
  const names = values.file === undefined ? undefined : namesOf(commands, values.file, gitDir);
  // A renamed file is found by its current name and by its name when the comment was made.
  const isWanted = ({ file, original }: Pick<ThreadView, "file" | "original">): boolean =>
    names === undefined || names.has(file) || names.has(original?.file ?? file);
  const threads = (await commands.list({ gitDir, states })).filter(isWanted);
  if (values.json === true) out(`${JSON.stringify({ threads }, null, 2)}\n`);
  else if (values.menu === true) out(threads.map(menuLine).join(""));
  else if (threads.length > 0) out(tableText(threads, invocation.edge));
  else {
    const where = values.file === undefined ? "" : ` on '${visibleLine(values.file)}'`;
    err(`There are no threads${where}. \`trunkline review add --file FILE --line N\` opens one.\n`);
  }
  return 0;
}

/** A line that a menu can split at the colon: `ID:text`. */
function menuLine(thread: ThreadView): string {
  const { id, state, comment } = thread;
  return `${id}:${state} ${whereOf(thread)} ${firstLine(comment)}\n`;
}

/** `trunkline review show ID` */
export async function show(
  invocation: Invocation<RepoValues & { readonly patch?: boolean }>,
): Promise<number> {
  const { values, positionals, out, data } = invocation;
  const [id = ""] = positionals;
  using commands = await openCommands(invocation);
  if (values.patch === true) {
    data((await commands.suggested(id)).patch);
    return 0;
  }
  const thread = await commands.show(id);
  out(values.json === true ? `${JSON.stringify(thread, null, 2)}\n` : threadText(thread));
  return 0;
}

/** What a file that a person named may be called in threads; one that is gone is named from the root. */
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
  invocation: Invocation<RepoValues & { readonly commit?: string }>,
): Promise<number> {
  const { values, positionals, out } = invocation;
  using commands = await openCommands(invocation);
  const { repository, path } = placeOf(commands.here, commands.folder, positionals[0] ?? "");
  const found = await changedLines(repository, path, values.commit);
  if (values.json === true) out(`${JSON.stringify({ lines: found }, null, 2)}\n`);
  else {
    const shown = found.map(({ line, side, change, text }) => {
      const number = side === "old" ? -line : line;
      return `${number}:${SIGNS[change]} ${visibleLine(text.replaceAll("\t", "    "))}\n`;
    });
    out(shown.join(""));
  }
  return 0;
}
