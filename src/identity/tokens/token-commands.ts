import { TrunklineError } from "../../base/errors.ts";
import type { Identity } from "../identity.ts";
import {
  askForge,
  type ForgeOptions,
  type TokenFacts,
  TokenRefused,
} from "../validate/forge-api.ts";
import { isExpired, showToken, tokenOfProgram, type TokenRecord, type Tokens } from "./tokens.ts";

/** What may be shown of a token. */
export interface KeptToken {
  readonly identity: string;
  /** Masked. */
  readonly token: string;
  readonly where: string;
  readonly expires: string | undefined;
  readonly notes: readonly string[];
}

export interface TokenVerdict {
  readonly identity: string;
  readonly isOk: boolean;
  readonly says: string;
  readonly user?: string;
  readonly scopes?: readonly string[];
  readonly expires?: string | undefined;
}

/** What else has to change with a token. */
export interface TokenChanges {
  saved(identity: Identity): Promise<void>;
  cleared(identity: Identity): Promise<void>;
}

/** What people and models may do with tokens: everything except read them. */
export class TokenCommands {
  readonly #tokens: Tokens;
  readonly #env: NodeJS.ProcessEnv;
  readonly #changes: TokenChanges | undefined;

  constructor(tokens: Tokens, env: NodeJS.ProcessEnv, changes?: TokenChanges) {
    this.#tokens = tokens;
    this.#env = env;
    this.#changes = changes;
  }

  /** Stores a token, unless the forge rejects it or it belongs to another user. */
  async save(
    identity: Identity,
    token: string,
    options: { readonly verify?: boolean; readonly expires?: string } = {},
  ): Promise<KeptToken> {
    const { verify = true, expires } = options;
    const clean = this.#tokens.check(identity, token);
    const notes: string[] = [];
    let facts: TokenFacts | undefined;
    if (verify) {
      try {
        facts = await askForge(identity, clean);
      } catch (error) {
        if (error instanceof TokenRefused || !(error instanceof TrunklineError)) throw error;
        notes.push(`The token could not be checked: ${error.message}.`);
      }
    }
    const trouble = facts && troubleWith(identity, facts);
    if (trouble !== undefined)
      throw new TrunklineError("usage", `Cannot store the token: ${trouble}`);
    const record: TokenRecord = {
      ...(facts === undefined ? {} : { ...facts, checkedAt: new Date().toISOString() }),
      ...(expires === undefined ? {} : { expires }),
    };
    const where = await this.#tokens.save(identity, clean, record);
    await this.#changes?.saved(identity);
    const shown = showToken(clean);
    return { identity: identity.name, token: shown, where, expires: record.expires, notes };
  }

  /** The token that the forge's own program has. */
  async ofProgram(identity: Identity): Promise<string> {
    const token = await tokenOfProgram(identity, this.#env);
    if (token !== undefined) return token;
    throw new TrunklineError(
      "not-found",
      `The forge's command-line program is not logged in to ${identity.host}`,
    );
  }

  async show(identity: Identity): Promise<Partial<KeptToken> & { readonly identity: string }> {
    const { name } = identity;
    const found = await this.#tokens.find(identity);
    if (found === undefined) return { identity: name };
    const { expires } = found.record;
    return { identity: name, token: showToken(found.token), where: found.where, expires };
  }

  async clear(identity: Identity): Promise<boolean> {
    const wasThere = await this.#tokens.clear(identity);
    await this.#changes?.cleared(identity);
    return wasThere;
  }

  /** Asks the forge about the token of an identity. */
  async verify(identity: Identity, options: ForgeOptions = {}): Promise<TokenVerdict> {
    const { name, provider } = identity;
    const bad = (says: string): TokenVerdict => ({ identity: name, isOk: false, says });
    try {
      const found = await this.#tokens.find(identity);
      if (found === undefined) {
        if (identity.tokenSource.kind === "none") {
          return { identity: name, isOk: true, says: "has no token, as configured" };
        }
        return bad(`has no token. Store one with \`trunkline identity token set ${name}\``);
      }
      if (isExpired(found.record)) return bad(`expired on ${found.record.expires}`);
      const facts = await askForge(identity, found.token, options);
      if (facts === undefined) {
        const says = `has a token; it cannot be checked for provider '${provider}'`;
        return { identity: name, isOk: true, says };
      }
      await this.#tokens.note(identity, { ...facts, checkedAt: new Date().toISOString() });
      const trouble = troubleWith(identity, facts);
      if (trouble !== undefined) return bad(trouble);
      const until = facts.expires === undefined ? "" : `, until ${facts.expires}`;
      return {
        identity: name,
        isOk: true,
        says: `is valid for user ${facts.user}${until}`,
        ...facts,
      };
    } catch (error) {
      if (!(error instanceof TrunklineError)) throw error;
      return bad(error.message);
    }
  }
}

function troubleWith({ user }: Identity, facts: TokenFacts): string | undefined {
  if (user !== undefined && facts.user.toLowerCase() !== user.toLowerCase()) {
    return `it belongs to '${facts.user}', not to '${user}'`;
  }
  return isExpired(facts) ? `it expired on ${facts.expires}` : undefined;
}
