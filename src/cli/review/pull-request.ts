import { TrunklineError } from "../../base/errors.ts";
import { visible } from "../../base/text/visible.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import type { ReviewCommands } from "../../review/review-commands.ts";
import { exportRemote } from "../../review/transfer/export-remote.ts";
import type { Imported } from "../../review/transfer/import-export.ts";
import { importRemote } from "../../review/transfer/import-remote.ts";
import {
  parseReference,
  type RemoteReference,
  referenceOfPage,
  referenceText,
} from "../../review/transfer/remote-reference.ts";
import type { RemoteReview } from "../../review/transfer/remote-thread.ts";
import type { Invocation } from "../shell/command.ts";
import { print } from "../shell/layout.ts";
import { openQuietApp } from "../shell/open-app.ts";
import { folderOf, type RepoValues } from "./open-reviews.ts";

export interface ForgeValues extends RepoValues {
  readonly github?: string;
  readonly gitlab?: string;
  readonly identity?: string;
}

/** The pull or merge request that a command line names, by an option or by its address. */
export async function namedReview(
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

export async function importPull(
  invocation: Invocation<ForgeValues>,
  commands: ReviewCommands,
  reference: RemoteReference,
): Promise<Imported> {
  const review = await open(invocation, reference, true);
  return importRemote(commands, await review.threads(), review.name);
}

/** Posts what was said here, and prints it. */
export async function exportPull(
  invocation: Invocation<ForgeValues & { readonly "dry-run"?: boolean }>,
  commands: ReviewCommands,
  reference: RemoteReference,
): Promise<number> {
  const { values, err } = invocation;
  const isTrial = values["dry-run"] === true;
  const review = await open(invocation, reference, isTrial);
  const { inertText } = await import("../../review/open/review-on-forge.ts");
  const exported = await exportRemote(commands, review, { isTrial, inert: inertText });
  for (const why of exported.refused) err(`${visible(why)}\n`);
  const { posted, resolved, reopened } = exported;
  const texts = posted.map(({ thread, text }) => `${thread}:\n${visible(text)}\n\n`);
  const did = isTrial ? "Would post" : "Posted";
  const counts = `${posted.length} replies, resolve ${resolved.length}, reopen ${reopened.length}`;
  const said = isTrial ? counts : counts.replace("resolve", "resolved").replace("open", "opened");
  const text = `${texts.join("")}${did} ${said} on ${referenceText(reference)}.\n`;
  return print(invocation, exported, text, { code: exported.refused.length > 0 ? 1 : 0 });
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
