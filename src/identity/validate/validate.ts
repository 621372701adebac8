import { stat } from "node:fs/promises";

import { shellQuote } from "../../base/text/shell-word.ts";
import type { Identity } from "../identity.ts";
import { signingReadiness } from "../signing/signing-readiness.ts";
import { isExpired, type Tokens } from "../tokens/tokens.ts";
import { askForge } from "./forge-api.ts";
import { logInBySsh } from "./ssh-login.ts";

/** The result of one check. */
export interface Finding {
  readonly outcome: "pass" | "fail" | "warn" | "skip";
  readonly what: "ssh-key" | "ssh" | "token" | "api" | "signing";
  readonly says: string;
  /** The command that mends it, as it is typed in a shell. */
  readonly command?: string;
}

export interface Validation {
  readonly identity: string;
  readonly isOk: boolean;
  readonly findings: readonly Finding[];
}

export interface ValidateOptions {
  readonly tokens: Tokens;
  readonly env: NodeJS.ProcessEnv;
  /** Connects to the forge; if false, checks only this machine. */
  readonly testAuth?: boolean;
  readonly checkGPG?: boolean;
  /** Milliseconds for each connection. */
  readonly timeout?: number;
}

const TIMEOUT = 10_000;

/** Checks whether an identity works. All checks run in parallel. */
export async function validateIdentity(
  identity: Identity,
  options: ValidateOptions,
): Promise<Validation> {
  const { testAuth = true, checkGPG = false } = options;
  const found = await Promise.all([
    checkKeyFile(identity),
    testAuth ? checkSsh(identity, options) : untried("ssh", "The SSH login was not tried."),
    checkToken(identity, testAuth, options),
    checkGPG ? checkSigning(identity, options) : untriedSigning(identity),
  ]);
  const findings = found.flat();
  const isOk = findings.every(({ outcome }) => outcome !== "fail");
  return { identity: identity.name, isOk, findings };
}

const NAMES: Readonly<Record<Finding["what"], string>> = {
  "ssh-key": "SSH key file",
  ssh: "SSH login",
  token: "stored token",
  api: "token at the forge",
  signing: "signing",
};

/** The result in one sentence. Only what was tried has passed. */
export function validationSummary({ findings }: Validation): string {
  const named = (...outcomes: Finding["outcome"][]): string => {
    const found = findings.filter(({ outcome }) => outcomes.includes(outcome));
    return [...new Set(found.map(({ what }) => NAMES[what]))].join(", ");
  };
  const failed = new Set(findings.flatMap(({ outcome, what }) => (outcome === "fail" ? what : [])));
  const good = findings.filter(({ outcome, what }) => outcome === "pass" && !failed.has(what));
  const passed = [...new Set(good.map(({ what }) => NAMES[what]))].join(", ");
  const first =
    failed.size > 0
      ? `Validation failed: ${named("fail")}.`
      : passed === ""
        ? "Nothing was validated."
        : `Validation passed: ${passed}.`;
  const rest = [
    failed.size > 0 && passed !== "" ? `Passed: ${passed}.` : "",
    named("warn") === "" ? "" : `To look at: ${named("warn")}.`,
    named("skip") === "" ? "" : `Not tried: ${named("skip")}.`,
  ];
  return [first, ...rest].filter((each) => each !== "").join(" ");
}

function untried(what: Finding["what"], says: string): Finding[] {
  return [{ what, outcome: "skip", says }];
}

function untriedSigning({ signing }: Identity): Finding[] {
  return signing === undefined ? [] : untried("signing", "Signing was not tried.");
}

export async function checkKeyFile({ sshKey, email }: Identity): Promise<Finding[]> {
  const what = "ssh-key";
  if (sshKey === undefined) {
    return [
      { what, outcome: "skip", says: "No SSH key is configured; ssh uses its default keys." },
    ];
  }
  try {
    const { mode } = await stat(sshKey);
    if ((mode & 0o077) === 0 || process.platform === "win32") {
      return [{ what, outcome: "pass", says: `The SSH key exists: ${sshKey}` }];
    }
    const command = `chmod 600 ${shellQuote(sshKey)}`;
    const says = `ssh will not use ${sshKey}: other users may read it. Make it private with: ${command}`;
    return [{ what, outcome: "fail", says, command }];
  } catch {
    const comment = email === undefined ? "" : ` -C ${shellQuote(email)}`;
    const command = `ssh-keygen -t ed25519 -f ${shellQuote(sshKey)}${comment}`;
    return [{ what, outcome: "fail", says: `The SSH key does not exist: ${sshKey}`, command }];
  }
}

async function checkSsh(identity: Identity, options: ValidateOptions): Promise<Finding[]> {
  const { host, sshHost } = identity;
  const what = "ssh";
  if (host === undefined && sshHost === undefined) {
    return [{ what, outcome: "skip", says: "No host is configured to log in to." }];
  }
  const { env, timeout = TIMEOUT } = options;
  const { isOk, says } = await logInBySsh(identity, { env, timeout });
  const where = sshHost ?? host;
  return [{ what, outcome: isOk ? "pass" : "fail", says: `SSH to ${where}: ${says}` }];
}

async function checkToken(
  identity: Identity,
  testAuth: boolean,
  { tokens, timeout = TIMEOUT }: ValidateOptions,
): Promise<Finding[]> {
  const { name, provider, user } = identity;
  if (identity.tokenSource.kind === "none") {
    return [{ what: "token", outcome: "skip", says: "No token, as configured." }];
  }
  const command = setTokenCommand(identity);
  const fail = (what: "token" | "api", says: string): Finding => ({ what, outcome: "fail", says });
  try {
    const found = await tokens.find(identity);
    if (found === undefined) {
      const says = `No token is stored. Store one with \`trunkline identity token set ${name}\`.`;
      return [{ what: "token", outcome: "warn", says, command }];
    }
    const is: Finding = {
      what: "token",
      outcome: "pass",
      says: `The token is in ${found.where}.`,
    };
    if (isExpired(found.record)) {
      return [{ ...fail("token", `The token expired on ${found.record.expires}.`), command }];
    }
    if (!testAuth) return [is, ...untried("api", "The forge was not asked about the token.")];
    const facts = await askForge(identity, found.token, { timeout });
    if (facts === undefined) {
      const says = `The token cannot be checked for provider '${provider}'.`;
      return [is, { what: "api", outcome: "skip", says }];
    }
    await tokens.note(identity, { ...facts, checkedAt: new Date().toISOString() });
    if (user !== undefined && facts.user.toLowerCase() !== user.toLowerCase()) {
      return [is, fail("api", `The token belongs to '${facts.user}', not to '${user}'.`)];
    }
    const scopes = facts.scopes.length === 0 ? "" : `, scopes: ${facts.scopes.join(", ")}`;
    const says = `The token is valid for user ${facts.user}${scopes}.`;
    const end: Finding[] = facts.expires === undefined ? [] : [expiry(facts.expires)];
    return [is, { what: "api", outcome: "pass", says }, ...end];
  } catch (error) {
    return [fail("api", (error as Error).message)];
  }
}

/** What stores a token of an identity. */
export function setTokenCommand({ name }: Identity): string {
  return `trunkline identity token set ${shellQuote(name)}`;
}

const SOON = 14 * 24 * 60 * 60_000;

function expiry(expires: string): Finding {
  const left = Date.parse(expires) - Date.now();
  const what = "token";
  if (left <= 0) return { what, outcome: "fail", says: `The token expired on ${expires}.` };
  return {
    what,
    outcome: left < SOON ? "warn" : "pass",
    says: `The token is valid until ${expires}.`,
  };
}

async function checkSigning(identity: Identity, { env }: ValidateOptions): Promise<Finding[]> {
  const what = "signing";
  const ready = await signingReadiness(identity, { env });
  if (ready.format === undefined) return [{ what, outcome: "skip", says: ready.says }];
  if (ready.canSign) return [{ what, outcome: "pass", says: `${ready.says} (${ready.key})` }];
  const outcome = ready.isFound && ready.needsTouch ? "warn" : "fail";
  return [{ what, outcome, says: `${ready.says} ${ready.guidance}` }];
}
