import { hash, randomBytes } from "node:crypto";

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
}

/** People, and programs that look for leaked secrets, know our tokens by it. */
export const TOKEN_PREFIX = "tlk_";

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

/** Whether something read from a file is one. */
export function isAccessToken(value: unknown): value is AccessToken {
  if (typeof value !== "object" || value === null) return false;
  const { id, name, sha256, created, expires, lastUsed } = value as Record<string, unknown>;
  return (
    typeof id === "string" &&
    typeof name === "string" &&
    typeof sha256 === "string" &&
    /^[0-9a-f]{64}$/.test(sha256) &&
    typeof created === "string" &&
    (expires === undefined || typeof expires === "string") &&
    (lastUsed === undefined || typeof lastUsed === "string")
  );
}
