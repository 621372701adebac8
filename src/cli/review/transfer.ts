import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { followReviews, type ReviewEvent } from "../../review/inbox/watch-reviews.ts";
import type { ImportResult } from "../../review/transfer/import-remote.ts";
import { exportReviews, importReviews } from "../../review/transfer/transfer.ts";
import {
  parseReference,
  referenceOfPage,
  referenceText,
  type RemoteReference,
} from "../../review/transfer/remote-reference.ts";
import { untilSignal } from "../../base/process/long-running.ts";
import { confirm, readGivenFile } from "../shell/ask.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { visible, visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import { firstLine, print } from "../shell/layout.ts";
import { folderOf, openCommands, personIn, type RepoValues } from "./open-reviews.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import type { ReviewCommands } from "../../review/review-commands.ts";
import { exportRemote } from "../../review/transfer/export-remote.ts";
import { importRemote } from "../../review/transfer/import-remote.ts";
import { postComments, unpostedComments } from "../../review/transfer/open-remote.ts";
import type { RemoteReview } from "../../review/transfer/remote-thread.ts";
import { openQuietApp } from "../shell/open-app.ts";

/** `trunkline review watch` */
export async function watch(invocation: Invocation<RepoValues>): Promise<number> {
  const { values, out, err } = invocation;
  const over = new AbortController();
  const stopping = untilSignal().then(() => over.abort());
  background(stopping, "Stopping to watch reviews");
  using commands = await openCommands(invocation);
  err(`Watching ${commands.repository?.root ?? "all repositories"}. Stop with Ctrl-C.\n`);
  const tell = (happening: ReviewEvent): void => {
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
  invocation: Invocation<ForgeValues & OptionValues<"file">>,
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
      ? await importReviews(commands, await readGivenFile(invocation, given[0] ?? ""), (done, of) =>
          err(`Looked at ${done} of ${of} findings.\n`),
        )
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
export async function exportAll(invocation: Invocation<ExportValues>): Promise<number> {
  const named = await namedReview(invocation);
  using commands = await openCommands(invocation);
  if (named !== undefined) return await exportPull(invocation, commands, named);
  const given = (["dry-run", "new"] as const).find((name) => invocation.values[name] === true);
  if (given !== undefined) {
    const how = "name a pull request with --github or --gitlab";
    throw new TrunklineError("usage", `Cannot use --${given} without posting: ${how}.`);
  }
  invocation.out(await exportReviews(commands, invocation.values.format));
  return 0;
}

type ForgeValues = OptionValues<"repo" | "github" | "gitlab" | "identity">;
type ExportValues = ForgeValues &
  OptionValues<"as", "dry-run" | "new" | "yes"> & { readonly format: "json" | "sarif" };

/** The pull or merge request that a command line names, by an option or by its address. */
async function namedReview(
  invocation: Invocation<ForgeValues>,
  positional?: string,
): Promise<RemoteReference | undefined> {
  const { github, gitlab } = invocation.values;
  if (github !== undefined && gitlab !== undefined) {
    throw new TrunklineError("usage", "Cannot use --github and --gitlab together: give one.");
  }
  const text = github ?? gitlab;
  if (text === undefined) return positional === undefined ? undefined : referenceOfPage(positional);
  const remotes = await repositoryAddresses(folderOf(invocation));
  return parseReference(github === undefined ? "gitlab" : "github", text, remotes);
}

async function importPull(
  invocation: Invocation<ForgeValues>,
  commands: ReviewCommands,
  reference: RemoteReference,
): Promise<ImportResult> {
  const review = await open(invocation, reference, true);
  return importRemote(commands, await review.threads(), review.name);
}

/** Posts what was said here, and prints it. */
async function exportPull(
  invocation: Invocation<ExportValues>,
  commands: ReviewCommands,
  reference: RemoteReference,
): Promise<number> {
  const { values, err } = invocation;
  const isTrial = values["dry-run"] === true;
  const review = await open(invocation, reference, isTrial);
  const opened =
    values.new === true
      ? await openThreads(invocation, commands, review)
      : { posted: [], refused: [] };
  const { inertText: inert } = await import("../../forge/propose.ts");
  const exported = await exportRemote(commands, review, { isTrial, inert });
  const refused = [...opened.refused, ...exported.refused];
  for (const why of refused) err(`${visible(why)}\n`);
  const { posted, resolved, reopened } = exported;
  const texts = posted.map(({ thread, text }) => `${thread}:\n${visible(text)}\n\n`);
  const did = isTrial ? "Would post" : "Posted";
  const own = values.new === true ? `${counted(opened.posted.length, "comment")}, ` : "";
  const counts = `${own}${posted.length} replies, resolve ${resolved.length}, reopen ${reopened.length}`;
  const said = isTrial ? counts : counts.replace("resolve", "resolved").replace("open", "opened");
  const text = `${texts.join("")}${did} ${said} on ${referenceText(reference)}.\n`;
  const all = { ...exported, opened: opened.posted, refused };
  return print(invocation, all, text, { code: refused.length > 0 ? 1 : 0 });
}

/** Shows the person's own comments, and posts them if the person agrees. */
async function openThreads(
  invocation: Invocation<ExportValues>,
  commands: ReviewCommands,
  review: RemoteReview,
): Promise<{ readonly posted: readonly string[]; readonly refused: readonly string[] }> {
  const { values, err } = invocation;
  // Those that were posted before are recognised by it.
  await importRemote(commands, await review.threads(), review.name);
  const unposted = await unpostedComments(commands, review, await personIn(invocation));
  const { comments, refused } = unposted;
  for (const { thread, place, text } of comments) {
    const at = place.line === undefined ? place.path : `${place.path}:${place.line}`;
    err(`${thread}  ${visibleLine(at)}\n${visible(text)}\n\n`);
  }
  if (comments.length === 0 || values["dry-run"] === true) {
    return { posted: comments.map(({ thread }) => thread), refused };
  }
  const question = `Post ${counted(comments.length, "comment")} on ${review.name}?`;
  if (values.yes !== true && !process.stdin.isTTY) {
    throw new TrunklineError("usage", `${question} Nobody can be asked here: add --yes to post.`);
  }
  if (values.yes !== true && !(await confirm(question))) return { posted: [], refused };
  const opened = await postComments(review, unposted);
  return { ...opened, refused: [...refused, ...opened.refused] };
}

async function open(
  invocation: Invocation<ForgeValues>,
  reference: RemoteReference,
  isReading: boolean,
): Promise<RemoteReview> {
  const { env, values, err } = invocation;
  const { reviewOnForge } = await import("../../review/open/review-on-forge.ts");
  return reviewOnForge(await openQuietApp(invocation), reference, {
    env,
    identity: values.identity,
    isReading,
    note: (text) => err(`${visible(text)}\n`),
  });
}
