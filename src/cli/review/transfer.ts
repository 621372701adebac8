import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { followReviews, type Happening } from "../../review/inbox/follow-reviews.ts";
import { exportReviews, importReviews } from "../../review/transfer/import-export.ts";
import { referenceOfPage } from "../../review/transfer/remote-reference.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { readGivenFile } from "../shell/ask.ts";
import type { Invocation } from "../shell/command.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted, firstLine, print } from "../shell/layout.ts";
import { exportPull, type ForgeValues, importPull, namedReview } from "./pull-request.ts";
import { openCommands, type RepoValues } from "./open-reviews.ts";

/** `trunkline review watch` */
export async function watch(invocation: Invocation<RepoValues>): Promise<number> {
  const { values, out, err } = invocation;
  const over = new AbortController();
  background(
    untilSignal().then(() => over.abort()),
    "Stopping to watch reviews",
  );
  using commands = await openCommands(invocation);
  err(`Watching ${commands.repository?.root ?? "all repositories"}. Stop with Ctrl-C.\n`);
  const tell = (happening: Happening): void => {
    if (values.json === true) return out(`${JSON.stringify(happening)}\n`);
    const { at, thread, kind, file, by, text = "" } = happening;
    return out(
      `${at}  ${thread}  ${kind}  ${visibleLine(file)}  ${visibleLine(by)}  ${firstLine(text)}\n`,
    );
  };
  await followReviews(commands, tell, over.signal);
  return 0;
}

/** `trunkline review import` */
export async function importFile(
  invocation: Invocation<ForgeValues & { readonly file?: string }>,
): Promise<number> {
  const { values, positionals, err } = invocation;
  const given = [...positionals, ...(values.file === undefined ? [] : [values.file])];
  const named = await namedReview(invocation, given[0]);
  const count = given.length + (named === undefined || referenceOfPage(given[0] ?? "") ? 0 : 1);
  if (count !== 1) {
    const what = count === 0 ? "Cannot import nothing" : "Cannot import several things at once";
    const how = "name a file, or a pull request with --github or --gitlab";
    throw new TrunklineError("usage", `${what}: ${how}.`);
  }
  using commands = await openCommands(invocation);
  const imported =
    named === undefined
      ? await importReviews(commands, await readGivenFile(invocation, given[0] ?? ""))
      : await importPull(invocation, commands, named);
  const { added, known, refused, replies = 0, general = 0 } = imported;
  for (const why of refused) err(`${visibleLine(why)}\n`);
  const parts = [
    `Opened ${counted(added, "thread")}`,
    ...(known > 0 ? [`${known} existed already`] : []),
    ...(replies > 0 ? [counted(replies, "new reply", "new replies")] : []),
    ...(general > 0 ? [`left out ${general} on no file`] : []),
    ...(refused.length > 0 ? [`refused ${refused.length}`] : []),
  ];
  const code = refused.length > 0 && added + known === 0 ? 1 : 0;
  return print(invocation, imported, `${parts.join("; ")}.\n`, { code });
}

/** `trunkline review export` */
export async function exportAll(
  invocation: Invocation<
    ForgeValues & { readonly format: "json" | "sarif"; readonly "dry-run"?: boolean }
  >,
): Promise<number> {
  const named = await namedReview(invocation);
  using commands = await openCommands(invocation);
  if (named !== undefined) return await exportPull(invocation, commands, named);
  if (invocation.values["dry-run"] === true) {
    const how = "name a pull request with --github or --gitlab";
    throw new TrunklineError("usage", `Cannot use --dry-run without posting: ${how}.`);
  }
  invocation.out(await exportReviews(commands, invocation.values.format));
  return 0;
}
