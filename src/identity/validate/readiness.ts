import type { GuardStatus } from "../guard/install-guard.ts";
import type { Identity } from "../identity.ts";
import { type SigningReadiness, signingReadiness } from "../signing/signing-readiness.ts";
import { isExpired, type Tokens } from "../tokens/tokens.ts";
import { checkKeyFile, type Finding, setTokenCommand } from "./validate.ts";

/** Something without which an identity does not work, or not safely. */
export interface MissingPart {
  readonly what: "token" | "ssh-key" | "signing" | "guard";
  /** "warn": works without it. */
  readonly outcome: "fail" | "warn";
  readonly says: string;
  /** The command that mends it, as it is typed in a shell. */
  readonly command?: string;
}

/** What an identity has on this machine. */
export interface Readiness {
  readonly identity: string;
  /** In words, each. */
  readonly token: string;
  readonly sshKey: string;
  readonly signing: SigningReadiness;
  readonly missing: readonly MissingPart[];
}

export interface ReadinessOptions {
  readonly tokens: Tokens;
  readonly env: NodeJS.ProcessEnv;
}

/** What an identity has and lacks. Asks nobody: neither the forge nor a person. */
export async function identityReadiness(
  identity: Identity,
  { tokens, env }: ReadinessOptions,
): Promise<Readiness> {
  const [token, [sshKey], signing] = await Promise.all([
    tokenFinding(identity, tokens),
    checkKeyFile(identity),
    signingReadiness(identity, { env, tries: false }),
  ]);
  const found = sshKey === undefined ? [token] : [token, sshKey];
  const missing = found.flatMap(({ what, outcome, says, command }): MissingPart[] => {
    if (outcome !== "fail" && outcome !== "warn") return [];
    const part = what === "ssh-key" ? what : "token";
    return [{ what: part, outcome, says, ...(command === undefined ? {} : { command }) }];
  });
  return {
    identity: identity.name,
    token: token.says,
    sshKey: sshKey?.says ?? "",
    signing,
    missing: [...missing, ...missingKey(signing)],
  };
}

async function tokenFinding(identity: Identity, tokens: Tokens): Promise<Finding> {
  const what = "token";
  const { kind, variable } = identity.tokenSource;
  if (kind === "none") return { what, outcome: "skip", says: "None, as configured." };
  try {
    const where = await tokens.whereKept(identity);
    const record = await tokens.record(identity);
    const command = kind === "keychain" ? { command: setTokenCommand(identity) } : {};
    if (where === undefined) {
      const says =
        kind === "environment" ? `The variable ${variable} is not set.` : "No token is stored.";
      return { what, outcome: "warn", says, ...command };
    }
    if (!isExpired(record)) return { what, outcome: "pass", says: `In ${where}.` };
    return { what, outcome: "fail", says: `The token expired on ${record.expires}.`, ...command };
  } catch (error) {
    return { what, outcome: "fail", says: (error as Error).message };
  }
}

function missingKey({ isFound, format, says, guidance }: SigningReadiness): MissingPart[] {
  if (isFound || format === undefined) return [];
  return [{ what: "signing", outcome: "fail", says: `${says} ${guidance}` }];
}

/** What is wrong with the guard of a repository. */
export function missingGuard({ isInstalled, broken, says }: GuardStatus): MissingPart[] {
  if (isInstalled && broken === undefined) return [];
  const command = "trunkline identity guard install";
  return [{ what: "guard", outcome: broken === undefined ? "warn" : "fail", says, command }];
}
