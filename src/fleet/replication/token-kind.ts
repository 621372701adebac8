import { existsSync } from "node:fs";

import { objectIn } from "../../base/check.ts";
import { defined } from "../../base/defined.ts";
import { readAccessToken } from "../../store/access/access-token.ts";
import type { AccessToken } from "../../store/schema.gen.ts";
import type { AccessTokens } from "../../store/access/access-tokens.ts";
import {
  type RowUpdate,
  rowText,
  type SharedKind,
  type SharedRows,
  type SharedText,
} from "./shared-base.ts";

/** The access tokens: their hashes and what they allow, by id. Who has a token uses it at any gateway. */
export class TokenKind implements SharedKind {
  readonly name = "token";
  readonly #tokens: AccessTokens;
  readonly #revoked: () => void;

  /** `revoked` is called when some were removed because another node has revoked them. */
  constructor(tokens: AccessTokens, revoked: () => void = () => {}) {
    this.#tokens = tokens;
    this.#revoked = revoked;
  }

  /** The list is the same object until the file changes. */
  stamp(): unknown {
    return this.#tokens.list();
  }

  async read(): Promise<SharedRows> {
    const rows = new Map(this.#tokens.list().map((token) => [token.id, textOf(token)]));
    // A damaged file is removed; tokens are revoked one by one.
    return { rows, isWhole: true, isLost: !existsSync(this.#tokens.path) };
  }

  async change(
    keys: readonly string[],
    decide: RowUpdate,
  ): Promise<ReadonlyMap<string, SharedText>> {
    const result = new Map<string, SharedText>();
    let isRevoked = false;
    await this.#tokens.replace((before) => {
      const tokens = new Map(before.map((token) => [token.id, token]));
      for (const key of keys) {
        const local = tokens.get(key);
        const next = decide(key, local && textOf(local));
        const token = next === undefined ? undefined : read(next);
        if (next === undefined) isRevoked = tokens.delete(key) || isRevoked;
        // A newer version may have tokens that this one does not understand: they let nobody in.
        else if (token?.id === key)
          tokens.set(key, defined({ ...token, lastUsed: local?.lastUsed }));
      }
      const kept = distinct([...tokens.values()]);
      const byId = new Map(kept.map((token) => [token.id, token]));
      for (const key of keys) {
        const token = byId.get(key);
        result.set(key, token && textOf(token));
      }
      return kept;
    });
    if (isRevoked) this.#revoked();
    return result;
  }

  /** A revoked token is never valid again, whatever else was changed. */
  merge(local: SharedText, shared: SharedText): SharedText {
    return local === undefined || shared === undefined ? undefined : shared;
  }
}

/** When a token was last used is known where it was used. */
function textOf(token: AccessToken): string {
  return rowText({ ...token, lastUsed: undefined });
}

function read(text: string): AccessToken | undefined {
  return readAccessToken(objectIn(text));
}

/**
 * The oldest first. People revoke tokens by their names: of two nodes' tokens with the same name, the
 * younger one gets its id as an addition, at every node alike.
 */
function distinct(tokens: readonly AccessToken[]): AccessToken[] {
  const names = new Set<string>();
  const order = (token: AccessToken): string => `${token.created} ${token.id}`;
  return tokens
    .toSorted((one, other) => (order(one) < order(other) ? -1 : 1))
    .map((token) => {
      const { name, id } = token;
      const isTaken = names.has(name);
      names.add(name);
      return isTaken ? { ...token, name: `${name.slice(0, 55)}-${id}` } : token;
    });
}
