import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { addCommentIn } from "../../review/add-comment.ts";
import { type DiffSuggestion, suggestionOfDiff } from "../../review/diff-suggestion.ts";
import { openRepository, placeOf } from "../../review/repository.ts";
import { readGivenFile } from "../shell/ask.ts";
import type { Severity, Side } from "../../store/review/review-thread.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { readComment } from "./comment-text.ts";
import { folderOf, openCommands, personIn, type RepoValues } from "./open-reviews.ts";

type AddValues = RepoValues &
  OptionValues<
    "file" | "line" | "end" | "base" | "commit" | "suggest" | "diff" | "comment" | "as"
  > & {
    readonly side: Side;
    readonly severity: Severity;
  };

/** `trunkline review add` */
export async function add(invocation: Invocation<AddValues>): Promise<number> {
  const { values, out } = invocation;
  const { file, base, severity, comment } = values;
  if (file === undefined)
    throw new TrunklineError("usage", "Cannot add a comment without a file: give --file.");
  if (values.suggest !== undefined && values.diff !== undefined) {
    const says = "Cannot use --suggest and --diff together: give one of them.";
    throw new TrunklineError("usage", says);
  }
  const suggest = values.suggest ?? values.diff;
  if (suggest === "-" && (comment === undefined || comment === "-")) {
    const why = "use - for one of them only";
    const says = `Cannot read comment and suggestion from standard input: ${why}.`;
    throw new TrunklineError("usage", says);
  }
  const given = suggest === undefined ? undefined : await readGivenFile(invocation, suggest);
  const folder = folderOf(invocation);
  const change = values.diff === undefined ? undefined : changeIn(folder, file, given ?? "");
  const first = change?.line ?? lineOf("--line", values.line);
  const isRemoved = first !== undefined && first < 0;
  const line = first === undefined ? undefined : Math.abs(first);
  const end = change?.end ?? lineOf("--end", values.end);
  const side = isRemoved ? "old" : values.side;
  const where = line === undefined ? file : `${file}:${line}${end === undefined ? "" : `-${end}`}`;
  const isGiven = comment !== undefined && comment !== "-";
  const said = isGiven ? comment : await readComment(invocation, comment, where);
  const { config } = await openQuietApp(invocation);
  const { id } = await addCommentIn(config.data, folder, {
    file,
    line,
    end: end === undefined ? undefined : Math.abs(end),
    side,
    base,
    commit: values.commit ?? change?.commit,
    severity,
    comment: said,
    suggestion: change?.suggestion ?? given,
    by: await personIn(invocation),
    source: "cli",
  });
  if (values.json === true) {
    using commands = await openCommands(invocation);
    out(`${JSON.stringify(await commands.show(id), null, 2)}\n`);
  } else out(`Opened ${id} on ${visibleLine(where)}.\n`);
  return 0;
}

function changeIn(folder: string, file: string, diff: string): DiffSuggestion {
  const { repository, path } = placeOf(openRepository(folder), folder, file);
  return suggestionOfDiff(repository, path, diff);
}

function lineOf(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  if (/^-?[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new TrunklineError("usage", `Cannot use '${name} ${text}': give a line number from 1 on.`);
}
