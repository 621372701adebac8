import { readFileSync, statSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";

import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import {
  type AccessToken,
  type Grant,
  hashToken,
  isExpired,
  nameProblem,
  newToken,
  newTokenId,
  readAccessToken,
  TOKEN_PREFIX,
} from "./access-token.ts";
import { replaceFile, withLock } from "../replace-file.ts";

const FILE = "access-tokens.json";
const MOST = 1000;

export interface AccessTokensOptions {
  /** After what time it is written that tokens were used. */
  readonly noteAfter?: number;
  readonly now?: () => number;
  /** Told when that could not be written, which stops nobody. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}

/**
 * The tokens that open a server, in a file of the data folder which several processes read and
 * write. Whoever asks is told of the file as it is at that moment, so a token that another process
 * revokes is of no more use.
 */
export class AccessTokens implements AsyncDisposable {
  readonly path: string;
  readonly #folder: string;
  readonly #noteAfter: number;
  readonly #now: () => number;
  readonly #report: NonNullable<AccessTokensOptions["report"]>;
  /** As they were when the file had the stamp below. */
  #tokens: readonly AccessToken[] = [];
  #byHash: ReadonlyMap<string, AccessToken> = new Map();
  #stamp = "";
  /** When tokens were used of which that is not written yet, by id. */
  readonly #used = new Map<string, number>();
  #timer: NodeJS.Timeout | undefined;

  constructor(folder: string, options: AccessTokensOptions = {}) {
    this.#folder = folder;
    this.path = join(folder, FILE);
    this.#noteAfter = options.noteAfter ?? 60_000;
    this.#now = options.now ?? Date.now;
    this.#report = options.report ?? (() => {});
  }

  /** All that there are, also those that have expired, the oldest first. */
  list(): readonly AccessToken[] {
    this.#look();
    return this.#tokens;
  }

  isLive(id: string): boolean {
    const token = this.list().find((each) => each.id === id);
    return token !== undefined && !isExpired(token, this.#now());
  }

  /** What is known of a token, where it lets its bearer in. It is found by its hash alone. */
  use(token: string): AccessToken | undefined {
    this.#look();
    const found = this.#byHash.get(hashToken(token));
    const now = this.#now();
    if (found === undefined || isExpired(found, now)) return undefined;
    this.#used.set(found.id, now);
    this.#timer ??= setTimeout(
      () => background(this.#noteUse(), "Noting the use of tokens"),
      this.#noteAfter,
    ).unref();
    return found;
  }

  /** Makes a token. Its text is nowhere but in what this resolves to. */
  async create(
    name: string | undefined,
    { scopes, limits }: Grant,
    expires?: Date,
  ): Promise<{ readonly token: string; readonly kept: AccessToken }> {
    const problem = name === undefined ? undefined : nameProblem(name);
    if (problem !== undefined) {
      throw new TrunklineError("usage", `Cannot name a token '${shown(name ?? "")}': ${problem}`);
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
      const made: AccessToken = {
        id: freeId(tokens),
        name: name ?? freeName(names),
        sha256: hashToken(token),
        created: new Date(this.#now()).toISOString(),
        ...(expires === undefined ? {} : { expires: expires.toISOString() }),
        scopes,
        ...(limits === undefined ? {} : { limits }),
      };
      return { tokens: [...tokens, made], result: made };
    });
    return { token, kept };
  }

  /** Forgets a token, by its name, its id or its own text. */
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
      return { tokens: tokens.filter((each) => each !== found), result: found };
    });
  }

  /** Writes what is left to write. */
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

  /** Changes what is on disk, whoever wrote it last. */
  async #update<T>(
    change: (tokens: readonly AccessToken[]) => {
      readonly tokens: readonly AccessToken[];
      readonly result?: T;
    },
  ): Promise<T> {
    try {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    } catch (error) {
      const { message } = error as Error;
      throw new TrunklineError("config", `Cannot write '${this.path}': ${message}`, {
        cause: error,
      });
    }
    return withLock(`${this.path}.lock`, async () => {
      const { tokens, result } = change(this.list());
      await replaceFile(this.path, `${JSON.stringify({ tokens }, null, 2)}\n`);
      return result as T;
    });
  }

  /** Reads the file where it is not the one that was read last. */
  #look(): void {
    let stamp: string;
    let text: string;
    try {
      const stat = statSync(this.path, { bigint: true, throwIfNoEntry: false });
      stamp = stat === undefined ? "" : `${stat.ino} ${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`;
      if (stamp === this.#stamp) return;
      text = stat === undefined ? `{"tokens":[]}` : readFileSync(this.path, "utf8");
    } catch (error) {
      // What cannot be read lets nobody in, now or later.
      this.#keep([], "unreadable");
      throw this.#broken((error as Error).message, error);
    }
    this.#keep([], "unreadable");
    this.#keep(this.#parse(text), stamp);
  }

  #keep(tokens: readonly AccessToken[], stamp: string): void {
    this.#tokens = tokens;
    this.#byHash = new Map(tokens.map((token) => [token.sha256, token]));
    this.#stamp = stamp;
  }

  #parse(text: string): readonly AccessToken[] {
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
    const next = "Mend it, or delete it: then no token is valid, and you make new ones.";
    return new TrunklineError("config", `Cannot read '${this.path}': ${why}. ${next}`, { cause });
  }
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

/** A word of a command line, which may be a secret that was put in the wrong place. */
function shown(word: string): string {
  return word.startsWith(TOKEN_PREFIX) ? `${TOKEN_PREFIX}…` : word.slice(0, 100);
}
