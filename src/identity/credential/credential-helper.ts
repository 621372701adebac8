import { TrunklineError } from "../../base/errors.ts";
import { parseRemoteUrl } from "../../base/remote-url.ts";
import type { GitConfig } from "../../git/config/git-config.ts";
import type { AgentCommitRule } from "../agent-commits.ts";
import { type GitContext, rightIdentity, withOnlyRemote } from "../detect/detect.ts";
import { hostFit, type Identity } from "../identity.ts";
import { isExpired, type Tokens } from "../tokens/tokens.ts";

interface CredentialContext {
  readonly identities: readonly Identity[];
  readonly tokens: Tokens;
  readonly context: GitContext;
  readonly env: NodeJS.ProcessEnv;
  readonly rules?: readonly AgentCommitRule[] | undefined;
}

export interface CredentialVerdict {
  /** For git. */
  readonly text: string;
  readonly identity: string | undefined;
  /** Why there is no credential. */
  readonly refused: string | undefined;
}

/**
 * Gives git the token of the active identity if the repository belongs to it. In all other cases it
 * answers `quit` (git-credential(1)): git then asks no other helper and no person, and no token
 * leaks.
 */
export async function answerCredential(
  question: CredentialQuestion,
  options: CredentialContext,
): Promise<CredentialVerdict> {
  const { identities, tokens, context, env, rules } = options;
  const strange = isSafe(question) ? transportOverride(context.config) : unsafe(question);
  if (strange !== undefined) return refuse(strange);
  const { protocol, host, path, username } = question;
  if (path === undefined || path === "") {
    return refuse("git did not send the repository's path: set credential.useHttpPath to true");
  }
  const url = `${protocol}://${host}/${path}`;
  const { identity, acting, why } = await rightIdentity(
    identities,
    withOnlyRemote(context, url),
    env,
    rules,
  );
  if (acting === undefined) return refuse("no identity is active here. " + switchTo(identity));
  if (identity === undefined) return refuse(`no identity matches ${url}. ${why}`);
  if (identity.name !== acting) {
    const says = `${url} belongs to identity '${identity.name}', but '${acting}' is active. ${why} `;
    return refuse(says + switchTo(identity), identity.name);
  }
  // A match rule may be about a folder only, but a token is valid for one host.
  if (!isTokenHost(identity, url)) {
    const says = `the token of '${acting}' is for ${identity.host ?? "no host"}, not for ${host}`;
    return refuse(says, acting);
  }
  if (username !== undefined && identity.user !== undefined && username !== identity.user) {
    return refuse(
      `git asks for user '${username}' at ${url}, but '${acting}' is user '${identity.user}'`,
      acting,
    );
  }
  const found = await tokens.find(identity);
  if (found === undefined) {
    const next = `Store one with \`trunkline identity token set ${acting}\``;
    return refuse(`there is no token for '${acting}'. ${next}`, acting);
  }
  if (isExpired(found.record)) {
    const next = `Store a new one with \`trunkline identity token set ${acting}\``;
    return refuse(`the token of '${acting}' expired on ${found.record.expires}. ${next}`, acting);
  }
  const user = username ?? identity.user ?? "x-access-token";
  const text = credentialText(user, found.token, found.record.expires);
  return { text, identity: acting, refused: undefined };
}

/**
 * The identity whose token a server has rejected, as git reports (gitcredentials(7), `erase`). The token is
 * kept: the server may be wrong.
 */
export async function rejectedIdentity(
  { protocol, host, password }: CredentialQuestion,
  { identities, tokens }: CredentialContext,
): Promise<string | undefined> {
  if (password === undefined) return undefined;
  for (const identity of identities) {
    if (!isTokenHost(identity, `${protocol}://${host}/`)) continue;
    if ((await tokens.find(identity))?.token === password) return identity.name;
  }
  return undefined;
}

function isTokenHost({ host }: Identity, url: string): boolean {
  return hostFit(host, parseRemoteUrl(url)) === "exact";
}

function refuse(why: string, identity?: string): CredentialVerdict {
  return { text: QUIT, identity, refused: why };
}

function switchTo(identity: Identity | undefined): string {
  return identity === undefined
    ? "Run `trunkline identity switch NAME`"
    : `Run \`trunkline identity switch ${identity.name}\``;
}

/** Plain HTTP is safe only on this machine. */
function isSafe({ protocol, host }: CredentialQuestion): boolean {
  const isHere = /^(?:localhost|127\.0\.0\.1|\[::1\])(?::\d+)?$/.test(host);
  return protocol === "https" || (protocol === "http" && isHere);
}

function unsafe({ protocol, host }: CredentialQuestion): string {
  if (protocol === "")
    return "git does not say by which protocol it would send the token. Use https";
  return `${protocol}://${host} would send the token unencrypted. Use https`;
}

/** Settings that redirect a connection or turn off its checks. */
const TRANSPORT =
  /^http\.(?:.*\.)?(?:proxy|sslverify|sslcainfo|sslcapath|sslbackend|curloptresolve|proxysslcainfo|extraheader)$/s;

/**
 * A setting of the repository that changes how connections are made. A repository of a stranger
 * could get the token through a proxy or certificate of its own.
 */
function transportOverride(config: GitConfig): string | undefined {
  const found = config.entries.find(({ key, scope }) => {
    return (scope === "local" || scope === "worktree") && TRANSPORT.test(key);
  });
  if (found === undefined) return undefined;
  const next = "If you need this setting, set it with `git config --global` instead";
  return `the repository's own configuration sets ${found.key}, which could leak the token. ${next}`;
}

/** What git asks a credential helper for (gitcredentials(7), git-credential(1)). */
interface CredentialQuestion {
  readonly protocol: string;
  /** As it is written in the URL, with its port if it has one. */
  readonly host: string;
  /** Only sent if `credential.useHttpPath` is true. */
  readonly path: string | undefined;
  readonly username: string | undefined;
  readonly password: string | undefined;
}

const MAX_SIZE = 64 * 1024;

/** Reads what git writes to a helper: `key=value` lines up to an empty one. */
export function parseCredential(text: string): CredentialQuestion {
  if (text.length > MAX_SIZE) {
    const says = `Cannot read git's credential request: it is over ${MAX_SIZE} characters`;
    throw new TrunklineError("limit", says);
  }
  const values = new Map<string, string>();
  for (const line of text.split("\n")) {
    if (line === "") break;
    const end = line.indexOf("=");
    if (end > 0) values.set(line.slice(0, end), line.slice(end + 1));
  }
  return {
    protocol: values.get("protocol") ?? "",
    host: (values.get("host") ?? "").toLowerCase(),
    path: values.get("path"),
    username: values.get("username"),
    password: values.get("password"),
  };
}

/** A helper's answer with a user name and a password. */
export function credentialText(
  username: string,
  password: string,
  expires: string | undefined,
): string {
  const end = expires === undefined ? undefined : Math.floor(Date.parse(expires) / 1000);
  const expiry = end === undefined || Number.isNaN(end) ? "" : `password_expiry_utc=${end}\n`;
  return `username=${username}\npassword=${password}\n${expiry}`;
}

/** A helper's answer that makes git stop: it asks no other helper and fails. */
export const QUIT = "quit=1\n";
