import { randomBytes } from "node:crypto";
import { join } from "node:path";

import { defined } from "../../base/defined.ts";
import { TrunklineError } from "../../base/errors.ts";
import { isLimited } from "../../base/principal.ts";
import {
  type Grant,
  hashToken,
  isExpired,
  makersOf,
  nameProblem,
  newToken,
  readAccessToken,
  TOKEN_PREFIX,
} from "./access-token.ts";
import type { AccessToken } from "../schema.gen.ts";
import { type LastUsesOptions, UsedList } from "../shared-list.ts";

const FILE = "access-tokens.json";
const MOST = 1000;

/**
 * The access tokens, in a file of the data folder that several processes read and write. Every lookup
 * checks whether the file has changed, so a token that another process revokes is refused at once.
 */
export class AccessTokens extends UsedList<AccessToken> {
  constructor(folder: string, options: LastUsesOptions = {}) {
    const advice = "Repair it, or delete it: then no token is valid until you create new ones.";
    super(join(folder, FILE), { key: "tokens", parse: readAccessToken, advice }, options);
  }

  protected override used(token: AccessToken, at: number): AccessToken {
    const isNews = at > 0 && !(Date.parse(token.lastUsed ?? "") >= at);
    return isNews ? { ...token, lastUsed: new Date(at).toISOString() } : token;
  }

  /** All tokens, including expired ones, oldest first. A file that cannot be read lets nobody in. */
  list(): readonly AccessToken[] {
    return this.read();
  }

  isLive(id: string): boolean {
    const token = this.list().find((each) => each.id === id);
    return token !== undefined && this.#letsIn(token);
  }

  /** Whether neither the token nor one that it was made with has been revoked, or has expired. */
  #letsIn(token: AccessToken): boolean {
    return makersOf(token, this.list())?.every((each) => !isExpired(each, this.now())) === true;
  }

  /** The record of a valid token. Looked up by hash, so that timing tells nothing about tokens. */
  use(token: string): AccessToken | undefined {
    const sha256 = hashToken(token);
    const found = this.list().find((each) => each.sha256 === sha256);
    if (found === undefined || !this.#letsIn(found)) return undefined;
    this.note(found);
    return found;
  }

  /**
   * Creates a token. Its text is only in the result; the file has its hash. A token that was created by
   * another has at most its rights, and ends with it.
   */
  async create(name: string | undefined, grant: Grant, expires?: Date, maker?: string) {
    for (const [what, given] of [
      ["token", name],
      ["person", grant.person],
    ] as const) {
      const problem = given === undefined ? undefined : nameProblem(given);
      if (problem === undefined) continue;
      const says = `Cannot name a ${what} '${shown(given ?? "")}': ${problem}`;
      throw new TrunklineError("usage", says);
    }
    if (grant.scopes.includes("admin") && isLimited(grant)) {
      const why = "it reaches what belongs to all, and a limited token would not";
      throw new TrunklineError("usage", `Cannot limit a token with the scope 'admin': ${why}`);
    }
    const token = newToken();
    const kept = await this.change((tokens) => {
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
      const from = tokens.find(({ id }) => id === maker);
      // A token makes others for its own person only.
      const person = maker === undefined ? grant.person : (from?.person ?? from?.maker ?? maker);
      const made = defined<AccessToken>({
        id: freeId(tokens),
        name: name ?? freeName(names),
        sha256: hashToken(token),
        created: new Date(this.now()).toISOString(),
        expires: end?.toISOString(),
        ...{ scopes, limits, profile, person, maker },
      });
      return { list: [...tokens, made], result: made };
    });
    return { token, kept };
  }

  /** The latest end of a token that another token creates. Throws "untrusted" if it would have more rights. */
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
    return this.change((tokens) => {
      const found = tokens.find((each) => {
        return sha256 === undefined ? [each.id, each.name].includes(which) : each.sha256 === sha256;
      });
      if (found === undefined) {
        const names = tokens.map(({ name }) => name).join(", ") || "none";
        const why = `there is no such token. Tokens: ${names}`;
        throw new TrunklineError("not-found", `Cannot revoke '${shown(which)}': ${why}`);
      }
      const kept = tokens.filter((each) => makersOf(each, tokens)?.includes(found) !== true);
      return { list: kept, result: found };
    });
  }

  /** Replaces the list by one that was made from it, such as with tokens of other machines. */
  async replace(change: (tokens: readonly AccessToken[]) => readonly AccessToken[]): Promise<void> {
    await this.change((tokens) => ({ list: change(tokens) }));
  }
}

function notMade(why: string): TrunklineError {
  const next = "Create it on the machine itself: trunkline token create";
  return new TrunklineError("untrusted", `Cannot create a token: ${why}. ${next}`);
}

function freeId(tokens: readonly AccessToken[]): string {
  const taken = new Set(tokens.map(({ id }) => id));
  for (;;) {
    const id = randomBytes(4).toString("hex");
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
