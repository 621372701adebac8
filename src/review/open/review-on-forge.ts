import { isIP } from "node:net";
import { lookup } from "node:dns/promises";

import { TrunklineError } from "../../base/errors.ts";
import { GitHub, gitHubReviews } from "../../forge/github.ts";
import { GitLab, gitLabReviews } from "../../forge/gitlab.ts";
import { ForgeHttp } from "../../forge/forge-http.ts";
import { apiOf } from "../../forge/forge.ts";
import { isLoopback } from "../../base/private-address.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import { hostFit } from "../../identity/identity.ts";
import {
  gitHubStates,
  readGitHubComments,
  readGitLabDiscussions,
  type RemoteReview,
} from "../transfer/remote-thread.ts";
import { referenceText, type RemoteReference } from "../transfer/remote-reference.ts";
import type { AppContext } from "../../config/app-context.ts";
import { currentIdentities } from "../../identity/open/open-identities.ts";
import { identifyFor } from "../../run/open/identify.ts";

export interface ReviewOnForgeOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The identity whose token to use; by default the one that fits the repository. */
  readonly identity?: string | undefined;
  /** Whether it may be read without a token. */
  readonly isReading: boolean;
  /** Called with a note for the person. */
  readonly note: (text: string) => void;
}

/** The threads of a pull or merge request, with the token of an identity. */
export async function reviewOnForge(
  app: AppContext,
  reference: RemoteReference,
  options: ReviewOnForgeOptions,
): Promise<RemoteReview> {
  const token = await tokenFor(app, reference, options);
  const name = referenceText(reference);
  if (reference.scheme === "http" && !isLoopback(new URL(`http://${reference.host}`))) {
    const why = "it would send the token unencrypted. Use https";
    throw new TrunklineError("untrusted", `Cannot ask http://${reference.host}: ${why}.`);
  }
  if (token === undefined) {
    if (!options.isReading) throw noToken(reference);
    options.note(`${noToken(reference).message} It is read without one.`);
  }
  const { forge, threads } =
    reference.kind === "github"
      ? onGitHub(reference, token, options.note)
      : onGitLab(reference, token);
  return {
    name,
    threads,
    reply: ({ replyTo = "" }, text) => forge.reply(replyTo, text),
    resolve: ({ resolveBy = "" }, isResolved) => forge.resolve(resolveBy, isResolved),
    head: () => forge.head(),
    open: (commit, place, text) => forge.open(commit, place, text),
  };
}

/** A token is sent only to the host of its identity. */
async function tokenFor(
  app: AppContext,
  { scheme, host, owner, repository }: RemoteReference,
  { env, identity: named }: ReviewOnForgeOptions,
): Promise<string | undefined> {
  const url = `${scheme}://${host}/${owner}/${repository}`;
  if (named === undefined) return (await identifyFor(app, env)(url)).credentials.token;
  await using commands = await currentIdentities(app, app.config.data, env);
  const identity = commands.identities.find(named);
  if (hostFit(identity.host, parseRemoteUrl(url)) !== "exact") {
    const why = `its token is for ${identity.host ?? "no host"}, and not for ${host}`;
    throw new TrunklineError("untrusted", `Cannot use identity '${identity.name}': ${why}.`);
  }
  const found = await commands.tokens.find(identity);
  if (found !== undefined) return found.token;
  const next = `Set one with \`trunkline identity token set ${identity.name}\``;
  throw new TrunklineError("untrusted", `Identity '${identity.name}' has no token. ${next}.`);
}

function noToken({ host }: RemoteReference): TrunklineError {
  const next = "Add one with `trunkline identity add`, and set its token";
  return new TrunklineError("untrusted", `No identity has a token for ${host}. ${next}.`);
}

function onGitHub(
  reference: RemoteReference,
  token: string | undefined,
  note: (text: string) => void,
) {
  const headers = token === undefined ? {} : GitHub.headersFor(token);
  const api = apiOf("github", reference);
  const graphql = httpAt(api.replace(/\/v3$/, ""), headers);
  const forge = gitHubReviews(httpAt(api, headers), graphql, reference);
  const states = async (): Promise<unknown[]> => {
    if (token === undefined) return [];
    try {
      return await forge.threads();
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      // The comments are useful even without the states of threads.
      note(`Cannot find out which threads are resolved. ${error.message}`);
      return [];
    }
  };
  const threads = async () =>
    readGitHubComments(await forge.comments(), new Map(gitHubStates(await states())));
  return { forge, threads };
}

function onGitLab(reference: RemoteReference, token: string | undefined) {
  const headers = token === undefined ? {} : GitLab.headersFor(token);
  const forge = gitLabReviews(httpAt(apiOf("gitlab", reference), headers), reference);
  return { forge, threads: async () => readGitLabDiscussions(await forge.discussions()) };
}

function httpAt(api: string, headers: Readonly<Record<string, string>>): ForgeHttp {
  return new ForgeHttp({ api, headers, addresses: () => addressesOf(new URL(api).hostname) });
}

/** A person named this host, so it may be a private one. */
async function addressesOf(hostname: string): Promise<string[]> {
  const host = hostname.replace(/^\[|\]$/g, "");
  if (isIP(host) !== 0) return [host];
  return (await lookup(host, { all: true })).map(({ address }) => address);
}
