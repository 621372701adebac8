import { linesToReview } from "../../gateway/review/reviews-transfer.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { type Desk, openDesk, type RepoValues } from "./open-reviews.ts";
import { threadMenu, threadTable, threadText } from "./review-print.ts";

type Filter = NonNullable<Parameters<Desk["list"]>[0]>;
type State = NonNullable<Filter["states"]>[number];

interface ListValues extends RepoValues {
  readonly state?: readonly State[];
  readonly all?: boolean;
  readonly everywhere?: boolean;
  readonly file?: string;
  readonly menu?: boolean;
}

const UNRESOLVED: readonly State[] = ["open", "claimed", "answered", "proposed", "reopened"];

/** `trunkline review list` */
export async function list(invocation: Invocation<ListValues>): Promise<number> {
  const { values, out, err } = invocation;
  using desk = await openDesk(invocation);
  const gitDir = values.everywhere === true ? undefined : desk.here.gitDir;
  const states = values.state ?? (values.all === true ? undefined : UNRESOLVED);
  const found = await desk.list({ gitDir, states });
  // A file is known by where it is now, or by where it was.
  const threads = found.filter(({ file, original }) => {
    return values.file === undefined || [file, original?.file].includes(values.file);
  });
  if (values.json === true) out(`${JSON.stringify({ threads }, null, 2)}\n`);
  else if (values.menu === true) out(threadMenu(threads));
  else if (threads.length > 0) out(threadTable(threads, invocation.width));
  else err("There are no threads. `trunkline review add --file FILE --line N` opens one.\n");
  return 0;
}

/** `trunkline review show ID` */
export async function show(
  invocation: Invocation<RepoValues & { readonly patch?: boolean }>,
): Promise<number> {
  const { values, positionals, out, data } = invocation;
  const [id = ""] = positionals;
  using desk = await openDesk(invocation);
  if (values.patch === true) {
    data((await desk.suggested(id)).patch);
    return 0;
  }
  const thread = await desk.show(id);
  out(values.json === true ? `${JSON.stringify(thread, null, 2)}\n` : threadText(thread));
  return 0;
}

const SIGNS = { added: "+", removed: "-", same: " " } as const;

/** `trunkline review lines FILE` */
export async function lines(invocation: Invocation<RepoValues>): Promise<number> {
  const { values, positionals, out } = invocation;
  using desk = await openDesk(invocation);
  const found = await linesToReview(desk, positionals[0] ?? "");
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
