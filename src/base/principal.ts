import { isInside, realPath } from "./file/path.ts";
import type { Budget } from "./limit/budget.ts";
import { remotePattern } from "./remote-url.ts";
import { glob } from "./text/glob.ts";

/** What a token may let its bearer do. */
export const SCOPES = ["tools", "sessions", "programs", "review", "dashboard", "admin"] as const;
export type Scope = (typeof SCOPES)[number];

/** Limits a principal to a part of what its scopes allow. A member that is left out limits nothing. */
export interface PrincipalLimits {
  /** Names of agents; `*` stands for any text. */
  readonly agents?: readonly string[];
  /** Names of tools; `*` stands for any text. */
  readonly tools?: readonly string[];
  /** Folders, with all that is in them. */
  readonly folders?: readonly string[];
  /** Addresses of git repositories: see `remotePattern`. */
  readonly repositories?: readonly string[];
  /** What turns may use in a day. */
  readonly budget?: Budget;
  /** Sessions that may be open at once. */
  readonly concurrent?: number;
  /** It may watch sessions, but not begin them, prompt, cancel or answer. */
  readonly observe?: boolean;
}

/** Who is behind a connection. Resolved once, where the connection comes in. */
export interface Principal {
  /** Unique; empty for the owner of the data folder. */
  readonly id: string;
  /** The name under which its calls are recorded; by default the one that the client gives itself. */
  readonly name?: string | undefined;
  /** What it may do; everything if left out. */
  readonly scopes?: readonly Scope[] | undefined;
  readonly limits?: PrincipalLimits | undefined;
  /** The name of the profile that its token was made with. */
  readonly profile?: string | undefined;
  /** The person whose token it is, where one person has several tokens. */
  readonly person?: string | undefined;
}

/** Whoever can start our programs or read our files: on stdio, on the owner's socket, with the owner's token. */
export const OWNER: Principal = { id: "" };

/** Any program on this machine, if the gateway is configured to require no authentication. */
export const ANYONE: Principal = {
  id: "anyone",
  scopes: ["tools", "sessions", "review", "dashboard"],
};

/** Prefix of the ids of principals with an access token. */
export const BEARER_PREFIX = "token ";

/** Prefix of the ids of principals whom an authorization server has authenticated. */
export const OAUTH_PREFIX = "oauth ";

/**
 * The person behind a principal, for data that belongs to one person. Undefined for unauthenticated clients
 * and for programs, which own nothing.
 */
export function personOf({
  id,
  person = id,
}: Pick<Principal, "id" | "person">): string | undefined {
  const isPerson = id.startsWith(BEARER_PREFIX) || id.startsWith(OAUTH_PREFIX);
  return isPerson || id === OWNER.id ? person : undefined;
}

/** The id of the access token of a principal; undefined where it has none. */
export function accessTokenOf({ id }: Pick<Principal, "id">): string | undefined {
  return id.startsWith(BEARER_PREFIX) ? id.slice(BEARER_PREFIX.length) : undefined;
}

export function hasScope({ scopes }: Principal, scope: Scope): boolean {
  return scopes === undefined || scopes.includes(scope);
}

/**
 * Whether it may see and use what belongs to others or to everybody: the owner may, and a principal with the
 * scope `admin`, unless it is limited to some tools, agents, folders or repositories.
 */
export function mayUseAll(principal: Principal): boolean {
  const { id, scopes = [] } = principal;
  return id === OWNER.id || (scopes.includes("admin") && !isLimited(principal));
}

/** Whether it is limited to a part of what its scopes allow. */
export function isLimited({
  limits = {},
  profile,
}: Pick<Principal, "limits" | "profile">): boolean {
  const { agents, tools, folders, repositories } = limits;
  return [agents, tools, folders, repositories, profile].some((limit) => limit !== undefined);
}

/** Whether it may do more in sessions than watch them. */
export function mayControl({ limits }: Principal): boolean {
  return limits?.observe !== true;
}

/** Why a principal may not do something, and what would allow it; undefined if it may. */
export function scopeRefusal(principal: Principal, scope: Scope, what: string): string | undefined {
  if (hasScope(principal, scope)) return undefined;
  return `${what} needs the scope '${scope}', which ${nameOf(principal)} lacks. ${remedyFor(principal, scope)}`;
}

/** The refusal for something that a limit of the principal excludes. */
export function limitRefusal(principal: Principal, what: string, option: string): string {
  return `${nameOf(principal)} may not use ${what}. Make a token that may: trunkline token create NAME ${option}`;
}

function nameOf({ id, name }: Principal): string {
  if (id === ANYONE.id) return "a client without a token";
  return name === undefined ? "this token" : `'${name}'`;
}

function remedyFor({ id }: Principal, scope: Scope): string {
  if (id === ANYONE.id) return "Send a token that has it: `trunkline serve` names the owner's.";
  if (id.startsWith(OAUTH_PREFIX)) return `Add it to \`serve.oauth.grants\` of the configuration.`;
  return `Make a token that has it: trunkline token create NAME --scope ${scope}`;
}

type LimitName = "agents" | "tools" | "repositories";
type CompiledLimits = Partial<Record<LimitName, readonly ((text: string) => boolean)[]>>;

/** Patterns are compiled once for each token, not for each call. */
const compiled = new WeakMap<PrincipalLimits, CompiledLimits>();

export function mayUseTool({ limits }: Principal, tool: string): boolean {
  return limits?.tools === undefined || fits(limits, "tools", tool);
}

export function mayUseAgent({ limits }: Principal, agent: string): boolean {
  return limits?.agents === undefined || fits(limits, "agents", agent);
}

/** Whether one of a repository's addresses, in their normal form, is among those that a principal may use. */
export function mayUseRepository({ limits }: Principal, addresses: readonly string[]): boolean {
  if (limits?.repositories === undefined) return true;
  return addresses.some((address) => fits(limits, "repositories", address));
}

/** By where a path really leads: a link inside a folder may lead out of it. */
export function mayUseFolder({ limits }: Principal, path: string): boolean {
  if (limits?.folders === undefined) return true;
  const real = realPath(path);
  return limits.folders.some((folder) => isInside(real, realPath(folder)));
}

function fits(limits: PrincipalLimits, kind: LimitName, text: string): boolean {
  let known = compiled.get(limits);
  if (known === undefined) compiled.set(limits, (known = {}));
  const compile = kind === "repositories" ? remotePattern : glob;
  const patterns = (known[kind] ??= (limits[kind] ?? []).map(compile));
  return patterns.some((isLike) => isLike(text));
}
