import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { addCommentIn } from "../../review/add-comment.ts";
import { readGivenFile } from "../shell/ask.ts";
import type { Severity, Side } from "../../store/review/review-thread.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { readComment } from "./comment-text.ts";
import { folderOf, openCommands, personIn, type RepoValues } from "./open-reviews.ts";

type AddValues = RepoValues &
  OptionValues<"file" | "line" | "end" | "base" | "commit" | "suggest" | "comment"> & {
    readonly side: Side;
    readonly severity: Severity;
  };

/** `trunkline review add` */
export async function add(invocation: Invocation<AddValues>): Promise<number> {
  const { values, out, env } = invocation;
  const { file, base, commit, severity, suggest, comment } = values;
  if (file === undefined)
    throw new TrunklineError("usage", "Cannot add a comment without a file: give --file.");
  if (suggest === "-" && (comment === undefined || comment === "-")) {
    const why = "use - for one of them only";
    throw new TrunklineError(
      "usage",
      `Cannot read comment and suggestion from standard input: ${why}.`,
    );
  }
  const first = lineOf("--line", values.line);
  const isRemoved = first !== undefined && first < 0;
  const line = first === undefined ? undefined : Math.abs(first);
  const end = lineOf("--end", values.end);
  const side = isRemoved ? "old" : values.side;
  const where = line === undefined ? file : `${file}:${line}${end === undefined ? "" : `-${end}`}`;
  const isGiven = comment !== undefined && comment !== "-";
  const said = isGiven ? comment : await readComment(invocation, comment, where);
  const suggestion = suggest === undefined ? undefined : await readGivenFile(invocation, suggest);
  const { config } = await openQuietApp(invocation);
  const { id } = await addCommentIn(config.data, folderOf(invocation), {
    file,
    line,
    end: end === undefined ? undefined : Math.abs(end),
    side,
    base,
    commit,
    severity,
    comment: said,
    suggestion,
    by: personIn(env),
    source: "cli",
  });
  if (values.json === true) {
    using commands = await openCommands(invocation);
    out(`${JSON.stringify(await commands.show(id), null, 2)}\n`);
  } else out(`Opened ${id} on ${visibleLine(where)}.\n`);
  return 0;
}

function lineOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^-?[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new TrunklineError("usage", `Cannot use '${name} ${text}': give a line number from 1 on.`);
}
