import { changedLines } from "../../review/anchor/changed-lines.ts";
import { briefViews } from "../../review/brief-list.ts";
import { ReviewCommands } from "../../review/review-commands.ts";
import type { ThreadView } from "../../review/thread-view.ts";
import { findRepository, pathIn, placeOf } from "../../review/repository.ts";
import type { ThreadState } from "../../store/review/review-thread.ts";
import { Reviews } from "../../store/review/reviews.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { dataOf, folderOf, openCommands, type RepoValues } from "./open-reviews.ts";
import { KeptList } from "./list/kept-list.ts";
import { listedThreads, lookedForAgain } from "./list/listed-threads.ts";
import {
  menuText,
  type Moves,
  tableText,
  type ThreadTable,
  threadTable,
  withPositions,
} from "./list/thread-table.ts";
import { threadText } from "./thread-text.ts";

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
  const data = await dataOf(invocation);
  const kept = keptIn(data, invocation);
  const before = kept?.read();
  const print = (table: ThreadTable, moves?: Moves): void => {
    if (values.menu !== true) out(tableText(table, invocation.edge, moves));
    else out(menuText(moves === undefined ? table : withPositions(table, moves)));
  };
  if (before?.stale.size === 0) {
    print(before.list.table);
    return 0;
  }
  if (before !== undefined) {
    // The store is as it was when the repository was recognised.
    using commands = new ReviewCommands(await Reviews.open(data), folderOf(invocation));
    const list = await lookedForAgain(commands, before.list, before.stale);
    print(list.table, list.moves);
    kept?.keep(list, before.stale);
    return 0;
  }
  using commands = await ReviewCommands.open(data, folderOf(invocation));
  const gitDir = values.everywhere === true ? undefined : commands.here.gitDir;
  const states = values.state ?? (values.all === true ? undefined : UNRESOLVED);
  const names = values.file === undefined ? undefined : namesOf(commands, values.file, gitDir);
  // A renamed file is found by its current name and by its name when the comment was made.
  const isWanted = ({ file, original }: Pick<ThreadView, "file" | "original">): boolean =>
    names === undefined || names.has(file) || names.has(original?.file ?? file);
  if (values.json === true) {
    const threads = (await commands.list({ gitDir, states })).filter(isWanted);
    out(`${JSON.stringify({ threads }, null, 2)}\n`);
    return 0;
  }
  const threads = await commands.reviews.listBriefly({ gitDir, states });
  const views = await briefViews(commands, threads);
  const wanted = views.filter(isWanted);
  if (wanted.length === 0 && values.menu !== true) {
    const where = values.file === undefined ? "" : ` on '${visibleLine(values.file)}'`;
    err(`There are no threads${where}. \`trunkline review add --file FILE --line N\` opens one.\n`);
    return 0;
  }
  const table = threadTable(wanted);
  print(table);
  // A claim lapses with time.
  const isLasting = !threads.some(({ state }) => state === "claimed");
  if (isLasting) kept?.keep(listedThreads(table, threads, views));
  return 0;
}

/** The list as it was printed last; undefined for lists that are not kept. */
function keptIn(data: string, invocation: Invocation<ListValues>): KeptList | undefined {
  const { json, everywhere, state, all = false, file } = invocation.values;
  // A part of the list does not show when a claim lapses, or a file is renamed into it.
  const isPart = state !== undefined || file !== undefined;
  if (json === true || everywhere === true || isPart) return undefined;
  const here = findRepository(folderOf(invocation));
  if (here === undefined) return undefined;
  return new KeptList(data, here, all);
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
