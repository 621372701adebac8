import { lstatSync, readFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileWords, TrunklineError } from "../../base/errors.ts";
import { replaceFile, withLock } from "../replace-file.ts";
import { hash, randomBytes } from "node:crypto";

import { isObject } from "../../base/check.ts";
import { BEARER_PREFIX, type Scope } from "../../base/principal.ts";
import { type AccessToken, checkAccessToken } from "../schema.gen.ts";

/** What a new token allows. */
export type Grant = Pick<AccessToken, "scopes" | "limits" | "profile" | "person">;

/** The scopes of tokens that were created before scopes existed. */
const ALL_OF_BEFORE: readonly Scope[] = ["tools", "sessions", "programs", "review", "dashboard"];

/** Lets people and secret scanners recognize our tokens. */
export const TOKEN_PREFIX = "tlk_";

const ID = /^[0-9a-f]{8}$/;
const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

export function newToken(): string {
  return TOKEN_PREFIX + randomBytes(32).toString("base64url");
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

/** The person of a token: several tokens of one, and those that they made, share logins. */
export function ownerOf({ id, person, maker }: AccessToken): string {
  // A name never looks like an id.
  return `${BEARER_PREFIX}${person ?? maker ?? id}`;
}

/** A token with an unreadable expiry date counts as expired. */
export function isExpired({ expires }: AccessToken, now: number): boolean {
  return expires !== undefined && !(Date.parse(expires) > now);
}

/** The token, its maker, the maker's maker and so on. Undefined if one of them was revoked. */
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
  const token: unknown = isObject(value) ? { scopes: ALL_OF_BEFORE, ...value } : value;
  return checkAccessToken(token) === undefined ? (token as AccessToken) : undefined;
}

const FILE = "owner-token";
const TOKEN = /^tlk_[\w-]{43}$/;

/**
 * The token of the owner of the data folder, in a file that nobody else can read. Each lookup checks
 * whether the file has changed, so a running server accepts a new token at once.
 */
export class OwnerToken {
  readonly path: string;
  /** Content of the file when it had `#stamp`; undefined if there is no file that only the owner can read. */
  #token: string | undefined;
  #mark: string | undefined;
  #stamp: string | undefined;

  constructor(folder: string) {
    this.path = join(folder, FILE);
  }

  /** Creates the token if there is none. A token that others could have read is replaced. */
  async ensure(): Promise<"kept" | "made" | "replaced"> {
    if (this.read() !== undefined) return "kept";
    return this.#locked(async () => {
      // Another process may have created it meanwhile.
      if (this.read() !== undefined) return "kept";
      const isThere = lstatSync(this.path, { throwIfNoEntry: false }) !== undefined;
      await replaceFile(this.path, newToken());
      return isThere ? "replaced" : "made";
    });
  }

  /** Replaces the token; the old one becomes invalid. */
  async rotate(): Promise<void> {
    await this.#locked(() => replaceFile(this.path, newToken()));
  }

  /** The token; undefined if there is none, or others could have read it. Throws if it cannot be read. */
  read(): string | undefined {
    this.#refresh();
    return this.#token;
  }

  /** The hash of a token if it is the owner's. Compares hashes, so that timing tells nothing. */
  match(token: string): string | undefined {
    const mark = hashToken(token);
    this.#refresh();
    return mark === this.#mark ? mark : undefined;
  }

  /** The hash of the token, which identifies it without giving access. */
  get mark(): string | undefined {
    this.#refresh();
    return this.#mark;
  }

  async #locked<T>(work: () => Promise<T>): Promise<T> {
    await mkdir(dirname(this.path), { recursive: true, mode: 0o700 });
    return withLock(`${this.path}.lock`, work);
  }

  /** Reads the file again if it has changed. */
  #refresh(): void {
    const stat = lstatSync(this.path, { bigint: true, throwIfNoEntry: false });
    const stamp =
      stat === undefined
        ? ""
        : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs} ${stat.mode} ${stat.uid}`;
    if (stamp === this.#stamp) return;
    this.#stamp = undefined;
    this.#mark = undefined;
    this.#token = undefined;
    this.#token = stat !== undefined && isSecret(stat) ? readToken(this.path) : undefined;
    this.#mark = this.#token === undefined ? undefined : hashToken(this.#token);
    // A failed read is retried with the next lookup.
    if (this.#token !== undefined || stat === undefined) this.#stamp = stamp;
  }
}

/** A regular file of ours that nobody else can read or write. */
function isSecret(stat: { mode: bigint; uid: bigint; isFile(): boolean }): boolean {
  const uid = process.getuid?.();
  const isOurs = uid === undefined || stat.uid === BigInt(uid);
  return stat.isFile() && isOurs && (stat.mode & 0o077n) === 0n;
}

/** Throws if the file cannot be read: an existing token must not be replaced. */
function readToken(path: string): string | undefined {
  try {
    const token = readFileSync(path, "utf8").trimEnd();
    return TOKEN.test(token) ? token : undefined;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    const says = `Cannot read the owner's token: ${fileWords(error)}`;
    throw new TrunklineError("unavailable", says, { cause: error });
  }
}
