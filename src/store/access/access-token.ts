import { hash, randomBytes } from "node:crypto";

import { type PrincipalLimits, type Scope, SCOPES } from "../../base/principal.ts";

/** What is kept of a token: enough to know it again, not enough to use it. */
export interface AccessToken {
  readonly id: string;
  readonly name: string;
  /** Of the whole token, in hexadecimal. 256 random bits need no salt and no slow hash. */
  readonly sha256: string;
  readonly created: string;
  /** Undefined where it does not expire. */
  readonly expires?: string;
  /** To the minute or so, and only once it was written. */
  readonly lastUsed?: string;
  /** What it is good for. */
  readonly scopes: readonly Scope[];
  readonly limits?: PrincipalLimits;
}

/** What a token can be made for. */
export type Grant = Pick<AccessToken, "scopes" | "limits">;

/** Tokens of before there were scopes could do all this. */
const ALL_OF_BEFORE: readonly Scope[] = ["tools", "sessions", "programs", "review", "dashboard"];

/** People, and programs that look for leaked secrets, know our tokens by it. */
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

/** Why a token cannot have this name, or nothing. */
export function nameProblem(name: string): string | undefined {
  if (name.startsWith(TOKEN_PREFIX)) return "it looks like a token";
  if (ID.test(name)) return "it looks like an id";
  if (!NAME.test(name)) {
    return "a name has up to 64 letters, digits, dots, dashes and underscores, and begins with a letter or digit";
  }
  return undefined;
}

/** One whose end cannot be read has ended. */
export function isExpired({ expires }: AccessToken, now: number): boolean {
  return expires !== undefined && !(Date.parse(expires) > now);
}

/** What was read from a file, if it is a token. What cannot be understood of it lets nobody in. */
export function readAccessToken(value: unknown): AccessToken | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const token = { scopes: ALL_OF_BEFORE, ...value } as AccessToken;
  return isAccessToken(token) ? token : undefined;
}

function isAccessToken(value: object): boolean {
  const { id, name, sha256, created, expires, lastUsed } = value as Record<string, unknown>;
  const { scopes, limits } = value as Record<string, unknown>;
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
    areLimits(limits)
  );
}

function areLimits(limits: unknown): boolean {
  if (limits === undefined) return true;
  if (typeof limits !== "object" || limits === null) return false;
  return Object.entries(limits).every(([name, list]) => LIMITS.has(name) && isTexts(list));
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((text) => typeof text === "string");
}
