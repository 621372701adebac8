import type { RunActor } from "../deliver.ts";
import { gitSettings } from "../../identity/git-settings.ts";
import { type CommitPersona, personaOf, trailersOf } from "../../identity/agent-commits.ts";
import { hostFit, type Identity } from "../../identity/identity.ts";
import { hostText } from "../../base/address.ts";
import { webHost } from "../../forge/forge.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import { matchIdentity } from "../../identity/detect/detect.ts";
import { NOBODY } from "../../git/git.ts";
import type { AppContext } from "../../config/app-context.ts";
import { currentIdentities } from "../../identity/open/open-identities.ts";

export interface RunIdentity extends RunActor {
  /** Undefined if none matches. */
  readonly identity?: Identity;
}

type RunIdentityFinder = (url: string, agent?: string) => Promise<RunIdentity>;

/**
 * Milliseconds for which an answer is cached, for sessions that begin together. Decrypting a token can
 * take a tenth of a second of processor time.
 */
const HOLDS = 10_000;

/** Finds the identity for an address: its credentials, and as whom an agent's commits are made. */
export function identifyFor(
  app: AppContext,
  env: NodeJS.ProcessEnv = process.env,
): RunIdentityFinder {
  const identify = identifyAnew(app, env);
  const known = new Map<string, ReturnType<RunIdentityFinder>>();
  return (url, agent = "") =>
    known.getOrInsertComputed(`${agent}\0${url}`, (key) => {
      const found = identify(url, agent);
      const forget = (): boolean => known.delete(key);
      found.then(() => setTimeout(forget, HOLDS).unref(), forget);
      return found;
    });
}

function identifyAnew(app: AppContext, env: NodeJS.ProcessEnv): RunIdentityFinder {
  return async (url, agent = "") => {
    await using commands = await currentIdentities(app, app.config.data, env);
    const address = { raw: url, effective: url };
    // A repository is fetched once for all agents: a rule that names one decides only who commits.
    const shared = commands.agentRuleAt("", { folders: [], address });
    const rule = commands.agentRuleAt(agent, { folders: [], address });
    const trailers = trailersOf(rule, agent);
    const { list } = commands.identities;
    const named = (name: string | undefined): Identity | undefined =>
      name === undefined ? bestFor(list, url) : commands.identities.find(name);
    const identity = named(shared?.identity);
    const committing = named(rule?.identity);
    const nobody: Partial<CommitPersona> & Pick<CommitPersona, "author"> = {
      author: rule?.author ?? NOBODY,
    };
    const { author, committer } = committing ? personaOf(committing, rule, env) : nobody;
    const acting = { author, ...(committer === undefined ? {} : { committer }), trailers };
    if (identity === undefined) return { ...acting, credentials: { scope: "" } };
    const kept = await commands.tokens.find(identity);
    const token = isTokenHost(identity, url) ? kept?.token : undefined;
    const settings = gitSettings(identity);
    const [ssh] = settings.find(({ key }) => key === "core.sshCommand")?.values ?? [];
    return {
      credentials: {
        scope: identity.name,
        user: identity.user,
        token,
        ...(token === undefined ? { noToken: noTokenFor(identity, url, kept) } : {}),
        ...(ssh === undefined ? {} : { sshCommand: `${ssh} -o BatchMode=yes` }),
      },
      ...acting,
      identity,
    };
  };
}

/** Says which identity was used, why it has no token for that server, and what to do. */
function noTokenFor({ name, host: own = "" }: Identity, text: string, found?: object): string {
  if (found === undefined) {
    const next = `Set one with \`trunkline identity token set ${name}\``;
    return `Identity '${name}', which is used for this repository, has no token. ${next}.`;
  }
  const { transport, host, port } = parseRemoteUrl(text);
  // The port of ssh is not that of the web server, which tokens are for.
  const asked = hostText({ host, port: transport === "ssh" ? undefined : port });
  const why = `A rule uses identity '${name}' for ${asked}, but its token is for ${own}`;
  const same = `If it is also meant for ${asked}: \`trunkline identity edit ${name} --host ${asked}\``;
  const other = `Otherwise add an identity with that host, and change the rule of '${name}'`;
  return `${why} and is not sent elsewhere. ${same}. ${other}.`;
}

/** A rule may apply an identity to other hosts too, but its token is for one. */
function isTokenHost({ host, sshHost }: Identity, text: string): boolean {
  const url = parseRemoteUrl(text);
  if (url.transport !== "ssh" || url.host === undefined) return hostFit(host, url) === "exact";
  return url.host === sshHost || hostFit(host, { ...url, host: webHost(url.host) }) === "exact";
}

function bestFor(identities: readonly Identity[], url: string): Identity | undefined {
  const address = { raw: url, effective: url };
  const fitting = identities.flatMap((identity) => {
    const found = matchIdentity(identity, { folders: [], remote: "origin", address });
    // Low confidence is only a guess by the host name, so no token is sent there.
    return found === undefined || found.confidence === "low" ? [] : [{ identity, found }];
  });
  return fitting.toSorted((one, other) => other.found.weight - one.found.weight)[0]?.identity;
}
