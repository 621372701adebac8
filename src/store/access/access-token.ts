import { hash, randomBytes } from "node:crypto";

import { AMOUNTS } from "../../base/limit/budget.ts";
import { type PrincipalLimits, type Scope, SCOPES } from "../../base/principal.ts";

/** The stored record of a token, with its hash instead of the token. */
export interface AccessToken {
  readonly id: string;
  readonly name: string;
  /** Hash of the whole token in hexadecimal. 256 random bits need no salt and no slow hash. */
  readonly sha256: string;
  readonly created: string;
  /** Undefined for a token that does not expire. */
  readonly expires?: string;
  /** Accurate to about a minute. */
  readonly lastUsed?: string;
  /** What the bearer may do. */
  readonly scopes: readonly Scope[];
  readonly limits?: PrincipalLimits;
  /** The profile of its bearer, by name. */
  readonly profile?: string;
  /** The id of the token that it was made with, and with which it ends; undefined where the owner made it. */
  readonly maker?: string;
}

/** What a new token allows. */
export type Grant = Pick<AccessToken, "scopes" | "limits" | "profile">;

/** The scopes of tokens that were created before scopes existed. */
const ALL_OF_BEFORE: readonly Scope[] = ["tools", "sessions", "programs", "review", "dashboard"];

/** Lets people and secret scanners recognize our tokens. */
export const TOKEN_PREFIX = "tlk_";

const LIMITS: ReadonlySet<string> = new Set(["agents", "tools", "folders", "repositories"]);
const ID = /^[0-9a-f]{8}$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function newToken(): string {
  return TOKEN_PREFIX + randomBytes(32).toString("base64url");
}

export function newTokenId(): string {
  return randomBytes(4).toString("hex");
}

export function hashToken(token: string): string {
  return hash("sha256", token);
}

/** Why a name is not allowed; undefined if it is. */
export function nameProblem(name: string): string | undefined {
  if (name.startsWith(TOKEN_PREFIX)) return "it looks like a token";
  if (ID.test(name)) return "it looks like an id";
  if (!NAME.test(name)) {
    return "a name has up to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit";
  }
  return undefined;
}

/** A token with an unreadable expiry date counts as expired. */
export function isExpired({ expires }: AccessToken, now: number): boolean {
  return expires !== undefined && !(Date.parse(expires) > now);
}

/** Those that a token was made with, itself first. Undefined where one of them is not there any more. */
export function makersOf(
  token: AccessToken,
  tokens: readonly AccessToken[],
): readonly AccessToken[] | undefined {
  const chain = [token];
  for (let id = token.maker; id !== undefined; id = chain.at(-1)?.maker) {
    const maker = tokens.find((each) => each.id === id);
    if (maker === undefined || chain.includes(maker)) return undefined;
    chain.push(maker);
  }
  return chain;
}

/** Reads a token record. Undefined for a record that is not fully understood: it must let nobody in. */
export function readAccessToken(value: unknown): AccessToken | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const token = { scopes: ALL_OF_BEFORE, ...value } as AccessToken;
  return isAccessToken(token) ? token : undefined;
}

function isAccessToken(value: object): boolean {
  const { id, name, sha256, created, expires, lastUsed } = value as Record<string, unknown>;
  const { scopes, limits, profile, maker } = value as Record<string, unknown>;
  return (
    typeof id === "string" &&
    typeof name === "string" &&
    typeof sha256 === "string" &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    typeof created === "string" &&
    (expires === undefined || typeof expires === "string") &&
    (lastUsed === undefined || typeof lastUsed === "string") &&
    isTexts(scopes) &&
    scopes.every((scope) => (SCOPES as readonly string[]).includes(scope)) &&
    (profile === undefined || typeof profile === "string") &&
    (maker === undefined || typeof maker === "string") &&
    areLimits(limits)
  );
}

function areLimits(limits: unknown): boolean {
  if (limits === undefined) return true;
  if (typeof limits !== "object" || limits === null) return false;
  const {
    budget = {},
    concurrent = 1,
    observe = true,
    ...lists
  } = limits as Record<string, unknown>;
  return (
    isBudget(budget) &&
    typeof observe === "boolean" &&
    isAmount(concurrent) &&
    Object.entries(lists).every(([name, list]) => LIMITS.has(name) && isTexts(list))
  );
}

function isBudget(budget: unknown): boolean {
  if (typeof budget !== "object" || budget === null) return false;
  return Object.entries(budget).every(
    ([name, value]) => (AMOUNTS as readonly string[]).includes(name) && isAmount(value),
  );
}

function isAmount(value: unknown): boolean {
  return typeof value === "number" && value > 0 && Number.isFinite(value);
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}
