import { join } from "node:path";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isLimited } from "../../base/principal.ts";
import {
  type AccessToken,
  type Grant,
  hashToken,
  isExpired,
  makersOf,
  nameProblem,
  newToken,
  newTokenId,
  readAccessToken,
  TOKEN_PREFIX,
} from "./access-token.ts";
import { SharedFile } from "./shared-file.ts";

const FILE = "access-tokens.json";
const MOST = 1000;

export interface AccessTokensOptions {
  /** Milliseconds after which the last use of tokens is written. */
  readonly noteAfter?: number;
  readonly now?: () => number;
  /** Called when the last use could not be written. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}

/**
 * The access tokens, in a file of the data folder that several processes read and write. Every lookup
 * checks whether the file has changed, so a token that another process revokes is refused at once.
 */
export class AccessTokens implements AsyncDisposable {
  readonly #file: SharedFile<readonly AccessToken[]>;
  readonly #noteAfter: number;
  readonly #now: () => number;
  readonly #report: NonNullable<AccessTokensOptions["report"]>;
  /** The tokens of the file by their hashes. */
  #byHash: ReadonlyMap<string, AccessToken> = new Map();
  #indexed: readonly AccessToken[] | undefined;
  /** Times of use that are not written yet, by id. */
  readonly #used = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: string, options: AccessTokensOptions = {}) {
    const broken = (why: string, cause: unknown): TrunklineError => this.#broken(why, cause);
    this.#file = new SharedFile(join(folder, FILE), { parse: (text) => this.#parse(text), broken });
    this.#noteAfter = options.noteAfter ?? 60_000;
    this.#now = options.now ?? Date.now;
    this.#report = options.report ?? (() => {});
  }

  get path(): string {
    return this.#file.path;
  }

  /** All tokens, including expired ones, oldest first. A file that cannot be read lets nobody in. */
  list(): readonly AccessToken[] {
    return this.#file.read();
  }

  isLive(id: string): boolean {
    const token = this.list().find((each) => each.id === id);
    return token !== undefined && this.#letsIn(token);
  }

  /** Whether neither the token nor one that it was made with has been revoked, or has expired. */
  #letsIn(token: AccessToken): boolean {
    const makers = makersOf(token, this.list());
    return makers?.every((each) => !isExpired(each, this.#now())) === true;
  }

  /** The record of a valid token. Looked up by hash, so that timing tells nothing about tokens. */
  use(token: string): AccessToken | undefined {
    const tokens = this.list();
    if (tokens !== this.#indexed) {
      this.#byHash = new Map(tokens.map((each) => [each.sha256, each]));
      this.#indexed = tokens;
    }
    const found = this.#byHash.get(hashToken(token));
    if (found === undefined || !this.#letsIn(found)) return undefined;
    this.#used.set(found.id, this.#now());
    this.#timer ??= setTimeout(
      () => background(this.#noteUse(), "Noting the use of tokens"),
      this.#noteAfter,
    ).unref();
    return found;
  }

  /**
   * Creates a token. Its text is only in the result; the file has its hash. With a maker, it may no more
   * than that one, and ends with it.
   */
  async create(
    name: string | undefined,
    grant: Grant,
    expires?: Date,
    maker?: string,
  ): Promise<{ readonly token: string; readonly kept: AccessToken }> {
    const problem = name === undefined ? undefined : nameProblem(name);
    if (problem !== undefined) {
      throw new TrunklineError("usage", `Cannot name a token '${shown(name ?? "")}': ${problem}`);
    }
    if (grant.scopes.includes("admin") && isLimited(grant)) {
      const why = "it reaches what belongs to all, and a limited token would not";
      throw new TrunklineError("usage", `Cannot limit a token with the scope 'admin': ${why}`);
    }
    const token = newToken();
    const kept = await this.#update((tokens) => {
      const names = new Set(tokens.map((each) => each.name));
      if (name !== undefined && names.has(name)) {
        const next = `Choose another name, or revoke it: trunkline token revoke ${name}`;
        throw new TrunklineError("config", `There is a token '${name}' already. ${next}`);
      }
      if (tokens.length >= MOST) {
        throw new TrunklineError("limit", `There are ${MOST} tokens already: revoke some first`);
      }
      const end = maker === undefined ? expires : this.#endOfMade(maker, grant, expires);
      const { scopes, limits, profile } = grant;
      const made: AccessToken = {
        id: freeId(tokens),
        name: name ?? freeName(names),
        sha256: hashToken(token),
        created: new Date(this.#now()).toISOString(),
        ...(end === undefined ? {} : { expires: end.toISOString() }),
        scopes,
        ...(limits === undefined ? {} : { limits }),
        ...(profile === undefined ? {} : { profile }),
        ...(maker === undefined ? {} : { maker }),
      };
      return { tokens: [...tokens, made], result: made };
    });
    return { token, kept };
  }

  /** When a token that another one makes ends at the latest. Throws "untrusted" where it would be more. */
  #endOfMade(id: string, { scopes }: Grant, expires: Date | undefined): Date | undefined {
    const maker = this.list().find((each) => each.id === id);
    if (maker === undefined || !this.#letsIn(maker)) {
      throw notMade("the token that makes it is not valid any more");
    }
    if (maker.limits !== undefined || maker.profile !== undefined) {
      throw notMade("the token that makes it is limited, and the new one would not be");
    }
    const lacking = scopes.find((scope) => !maker.scopes.includes(scope));
    if (lacking !== undefined)
      throw notMade(`the token that makes it lacks the scope '${lacking}'`);
    // Its own end is no later than those of its makers.
    if (maker.expires === undefined) return expires;
    const end = new Date(maker.expires);
    if (expires !== undefined && expires > end) {
      throw notMade(`the token that makes it ends on ${maker.expires}`);
    }
    return expires ?? end;
  }

  /** Deletes a token by its name, its id or its text, with those that were made with it. */
  async revoke(which: string): Promise<AccessToken> {
    const sha256 = which.startsWith(TOKEN_PREFIX) ? hashToken(which) : undefined;
    return this.#update((tokens) => {
      const found = tokens.find((each) => {
        return sha256 === undefined ? [each.id, each.name].includes(which) : each.sha256 === sha256;
      });
      if (found === undefined) {
        const names = tokens.map(({ name }) => name).join(", ") || "none";
        const why = `there is no such token. Tokens: ${names}`;
        throw new TrunklineError("not-found", `Cannot revoke '${shown(which)}': ${why}`);
      }
      const kept = tokens.filter((each) => makersOf(each, tokens)?.includes(found) !== true);
      return { tokens: kept, result: found };
    });
  }

  /** Replaces the list by one that was made from it, such as with tokens of other machines. */
  async replace(change: (tokens: readonly AccessToken[]) => readonly AccessToken[]): Promise<void> {
    await this.#update((tokens) => ({ tokens: change(tokens) }));
  }

  /** Writes pending times of use. */
  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    await this.#noteUse();
  }

  async #noteUse(): Promise<void> {
    this.#timer = undefined;
    if (this.#used.size === 0) return;
    const used = new Map(this.#used);
    this.#used.clear();
    try {
      await this.#update((tokens) => ({ tokens: tokens.map((each) => noted(each, used)) }));
    } catch (error) {
      this.#report("access-tokens.not-noted", { file: this.path, error });
    }
  }

  /** Changes the file under its lock. */
  async #update<T>(
    change: (tokens: readonly AccessToken[]) => {
      readonly tokens: readonly AccessToken[];
      readonly result?: T;
    },
  ): Promise<T> {
    return this.#file.change((kept) => {
      const { tokens, result } = change(kept);
      return { value: { tokens }, result: result as T };
    });
  }

  #parse(text = `{"tokens":[]}`): readonly AccessToken[] {
    let value: { tokens?: unknown } | null;
    try {
      value = JSON.parse(text) as { tokens?: unknown } | null;
    } catch (error) {
      throw this.#broken("it is not JSON", error);
    }
    const tokens = value?.tokens;
    const read = Array.isArray(tokens) ? tokens.map(readAccessToken) : [undefined];
    if (!read.every((token) => token !== undefined)) {
      throw this.#broken("it has no list of tokens");
    }
    return read;
  }

  #broken(why: string, cause?: unknown): TrunklineError {
    const next = "Repair it, or delete it: then no token is valid until you create new ones.";
    return new TrunklineError("config", `Cannot read '${this.path}': ${why}. ${next}`, { cause });
  }
}

function notMade(why: string): TrunklineError {
  const next = "Create it on the machine itself: trunkline token create";
  return new TrunklineError("untrusted", `Cannot create a token: ${why}. ${next}`);
}

function noted(token: AccessToken, used: ReadonlyMap<string, number>): AccessToken {
  const at = used.get(token.id);
  const known = Date.parse(token.lastUsed ?? "");
  return at === undefined || known >= at
    ? token
    : { ...token, lastUsed: new Date(at).toISOString() };
}

function freeId(tokens: readonly AccessToken[]): string {
  const taken = new Set(tokens.map(({ id }) => id));
  for (;;) {
    const id = newTokenId();
    if (!taken.has(id)) return id;
  }
}

function freeName(names: ReadonlySet<string>): string {
  for (let number = 1; ; number++) {
    const name = `token-${number}`;
    if (!names.has(name)) return name;
  }
}

/** Shortens an argument for a message. It may be a token that was typed in the wrong place. */
function shown(word: string): string {
  return word.startsWith(TOKEN_PREFIX) ? `${TOKEN_PREFIX}…` : word.slice(0, 100);
}
