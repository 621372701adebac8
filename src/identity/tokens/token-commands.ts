import { TrunklineError } from "../../base/errors.ts";
import type { Identity } from "../identity.ts";
import { askForge, type TokenFacts, TokenRejectedError } from "../validate/forge-api.ts";
import { isExpired, showToken, tokenOfProgram, type TokenRecord, type Tokens } from "./tokens.ts";

/** What may be shown of a token. */
export interface TokenSummary {
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
export function tokenCommandsFor(tokens: Tokens, env: NodeJS.ProcessEnv, changes?: TokenChanges) {
  return {
    /** Stores a token, unless the forge rejects it or it belongs to another user. */
    async save(
      identity: Identity,
      token: string,
      options: { readonly verify?: boolean; readonly expires?: string } = {},
    ): Promise<TokenSummary> {
      const { verify = true, expires } = options;
      const clean = tokens.check(identity, token);
      const notes: string[] = [];
      let facts: TokenFacts | undefined;
      if (verify) {
        try {
          facts = await askForge(identity, clean);
        } catch (error) {
          if (error instanceof TokenRejectedError || !(error instanceof TrunklineError))
            throw error;
          notes.push(`The token could not be checked: ${error.message}.`);
        }
      }
      const trouble = facts && troubleWith(identity, facts);
      if (trouble !== undefined)
        throw new TrunklineError("usage", `Cannot store the token: it ${trouble}`);
      const record: TokenRecord = { ...facts, ...(expires === undefined ? {} : { expires }) };
      const where = await tokens.save(identity, clean, record);
      await changes?.saved(identity);
      const shown = showToken(clean);
      return { identity: identity.name, token: shown, where, expires: record.expires, notes };
    },

    /** The token that the forge's own program has. */
    async ofProgram(identity: Identity): Promise<string> {
      const token = await tokenOfProgram(identity, env);
      if (token !== undefined) return token;
      const says = `The forge's command-line program is not logged in to ${identity.host}`;
      throw new TrunklineError("not-found", says);
    },

    async show(identity: Identity): Promise<Partial<TokenSummary> & { readonly identity: string }> {
      const { name } = identity;
      const found = await tokens.find(identity);
      if (found === undefined) return { identity: name };
      const { expires } = found.record;
      return { identity: name, token: showToken(found.token), where: found.where, expires };
    },

    async clear(identity: Identity): Promise<boolean> {
      const wasThere = await tokens.clear(identity);
      await changes?.cleared(identity);
      return wasThere;
    },

    /** Asks the forge about the token of an identity. */
    async verify(identity: Identity): Promise<TokenVerdict> {
      const { name } = identity;
      try {
        const { state, says, facts } = await judgeToken(identity, tokens);
        const end = facts?.expires === undefined ? "" : ` It expires on ${facts.expires}.`;
        const isOk = state !== "missing" && state !== "bad";
        return { identity: name, isOk, says: `${says}${end}`, ...facts };
      } catch (error) {
        if (!(error instanceof TrunklineError)) throw error;
        return { identity: name, isOk: false, says: error.message };
      }
    },
  };
}

interface TokenJudgment {
  /** "none": by configuration. "bad": expired, or of another user. */
  readonly state: "none" | "missing" | "bad" | "unchecked" | "valid";
  /** In a sentence. */
  readonly says: string;
  /** Where the token is, if there is one that has not expired. */
  readonly where?: string;
  /** What the forge says of a valid token. */
  readonly facts?: TokenFacts;
}

/** Looks for the token of an identity, asks the forge about it, and records the answer. */
export async function judgeToken(
  identity: Identity,
  tokens: Tokens,
  { testAuth = true }: { readonly testAuth?: boolean } = {},
): Promise<TokenJudgment> {
  const { name, provider, tokenSource } = identity;
  if (tokenSource.kind === "none") return { state: "none", says: "No token, as configured." };
  const found = await tokens.find(identity);
  if (found === undefined) {
    const next = `Store one with \`trunkline identity token set ${name}\`.`;
    return { state: "missing", says: `No token is stored. ${next}` };
  }
  const { where, record } = found;
  if (isExpired(record)) return { state: "bad", says: `The token expired on ${record.expires}.` };
  if (!testAuth) {
    return { state: "unchecked", where, says: "The forge was not asked about the token." };
  }
  const facts = await askForge(identity, found.token);
  if (facts === undefined) {
    const says = `The token cannot be checked for provider '${provider}'.`;
    return { state: "unchecked", where, says };
  }
  await tokens.note(identity, facts);
  const trouble = troubleWith(identity, facts);
  if (trouble !== undefined) return { state: "bad", where, says: `The token ${trouble}.` };
  const scopes = facts.scopes.length === 0 ? "" : `, scopes: ${facts.scopes.join(", ")}`;
  const says = `The token is valid for user ${facts.user}${scopes}.`;
  return { state: "valid", where, says, facts };
}

function troubleWith({ user }: Identity, facts: TokenFacts): string | undefined {
  if (user !== undefined && facts.user.toLowerCase() !== user.toLowerCase()) {
    return `belongs to '${facts.user}', not to '${user}'`;
  }
  return isExpired(facts) ? `expired on ${facts.expires}` : undefined;
}
