import { stat } from "node:fs/promises";

import { maskText } from "../../base/text/mask.ts";
import { shellQuote } from "../../base/text/shell-word.ts";
import { sshConfigArguments } from "../detect/ssh-options.ts";
import type { GuardStatus } from "../guard/install-guard.ts";
import { type Identity, splitHost } from "../identity.ts";
import {
  quietRunner,
  signingReadiness,
  type SigningReadiness,
} from "../signing/signing-readiness.ts";
import { judgeToken } from "../tokens/token-commands.ts";
import { isExpired, isExpiring, type Tokens } from "../tokens/tokens.ts";

/** The result of one check. */
export interface ValidationFinding {
  readonly outcome: "pass" | "fail" | "warn" | "skip";
  readonly what: "ssh-key" | "ssh" | "token" | "api" | "signing" | "guard";
  readonly says: string;
  /** The command that mends it, as it is typed in a shell. */
  readonly command?: string;
  /** It is there, until then: less than two weeks. */
  readonly expires?: string;
}

export interface Validation {
  readonly identity: string;
  readonly isOk: boolean;
  readonly findings: readonly ValidationFinding[];
}

export interface ValidateOptions {
  readonly tokens: Tokens;
  readonly env: NodeJS.ProcessEnv;
  /** Asks the forge about the token. */
  readonly testAuth?: boolean;
  /** Connects to nobody, neither by ssh nor to the forge. */
  readonly offline?: boolean;
  readonly checkGPG?: boolean;
}

/** Milliseconds for a login by SSH. */
const TIMEOUT = 10_000;

/** Checks whether an identity works. All checks run in parallel. */
export async function validateIdentity(
  identity: Identity,
  options: ValidateOptions,
): Promise<Validation> {
  const { offline = false, testAuth = !offline, checkGPG = false } = options;
  const found = await Promise.all([
    checkKeyFile(identity),
    offline ? untried("ssh", "The SSH login was not tried.") : checkSsh(identity, options),
    checkToken(identity, testAuth, options),
    checkGPG ? checkSigning(identity, options) : untriedSigning(identity),
  ]);
  const findings = found.flat();
  const isOk = findings.every(({ outcome }) => outcome !== "fail");
  return { identity: identity.name, isOk, findings };
}

const NAMES: Readonly<Record<ValidationFinding["what"], string>> = {
  "ssh-key": "SSH key file",
  ssh: "SSH login",
  token: "stored token",
  api: "token at the forge",
  signing: "signing",
  guard: "guard",
};

/** The result in one sentence. Only what was tried has passed. */
export function validationSummary({ findings }: Validation): string {
  const named = (...outcomes: ValidationFinding["outcome"][]): string => {
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

function untried(what: ValidationFinding["what"], says: string): ValidationFinding[] {
  return [{ what, outcome: "skip", says }];
}

function untriedSigning({ signing }: Identity): ValidationFinding[] {
  return signing === undefined ? [] : untried("signing", "Signing was not tried.");
}

async function checkKeyFile({ sshKey, email }: Identity): Promise<ValidationFinding[]> {
  const what = "ssh-key";
  if (sshKey === undefined) {
    return untried(what, "No SSH key is configured; ssh uses its default keys.");
  }
  try {
    if (((await stat(sshKey)).mode & 0o077) === 0 || process.platform === "win32") {
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

async function checkSsh(
  identity: Identity,
  options: ValidateOptions,
): Promise<ValidationFinding[]> {
  const { host, sshHost } = identity;
  const what = "ssh";
  if (host === undefined && sshHost === undefined) {
    return [{ what, outcome: "skip", says: "No host is configured to log in to." }];
  }
  const { isOk, says } = await logInBySsh(identity, options.env);
  return [{ what, outcome: isOk ? "pass" : "fail", says: `SSH to ${sshHost ?? host}: ${says}` }];
}

async function checkToken(
  identity: Identity,
  testAuth: boolean,
  { tokens }: ValidateOptions,
): Promise<ValidationFinding[]> {
  try {
    const { state, says, where, facts } = await judgeToken(identity, tokens, { testAuth });
    const outcome = TOKEN_OUTCOMES[state];
    if (where === undefined) {
      const command = state === "none" ? {} : { command: setTokenCommand(identity) };
      return [{ what: "token", outcome, says, ...command }];
    }
    return [
      { what: "token", outcome: "pass", says: `The token is in ${where}.` },
      { what: "api", outcome, says },
      ...(facts?.expires === undefined ? [] : [expiry(facts.expires)]),
    ];
  } catch (error) {
    return [{ what: "api", outcome: "fail", says: (error as Error).message }];
  }
}

const TOKEN_OUTCOMES = {
  none: "skip",
  missing: "warn",
  bad: "fail",
  unchecked: "skip",
  valid: "pass",
} as const;

/** What stores a token of an identity. */
function setTokenCommand({ name }: Identity): string {
  return `trunkline identity token set ${shellQuote(name)}`;
}

function expiry(expires: string): ValidationFinding {
  const says = `The token is valid until ${expires}.`;
  return { what: "token", outcome: isExpiring({ expires }) ? "warn" : "pass", says };
}

async function checkSigning(
  identity: Identity,
  { env }: ValidateOptions,
): Promise<ValidationFinding[]> {
  const what = "signing";
  const ready = await signingReadiness(identity, { env });
  if (ready.format === undefined) return [{ what, outcome: "skip", says: ready.says }];
  if (ready.canSign) return [{ what, outcome: "pass", says: `${ready.says} (${ready.key})` }];
  const outcome = ready.isFound && ready.needsTouch ? "warn" : "fail";
  return [{ what, outcome, says: `${ready.says} ${ready.guidance}` }];
}

/** What an identity has on this machine. */
export interface Readiness {
  readonly identity: string;
  /** In words, each. */
  readonly token: string;
  readonly sshKey: string;
  readonly signing: SigningReadiness;
  /** Without which it does not work ("fail"), or less well ("warn"). */
  readonly missing: readonly ValidationFinding[];
}

/** What an identity has and lacks. Asks nobody: neither the forge nor a person. */
export async function identityReadiness(
  identity: Identity,
  { tokens, env }: Pick<ValidateOptions, "tokens" | "env">,
): Promise<Readiness> {
  const [token, [sshKey], signing] = await Promise.all([
    tokenFinding(identity, tokens),
    checkKeyFile(identity),
    signingReadiness(identity, { env, tries: false }),
  ]);
  return {
    identity: identity.name,
    token: token.says,
    sshKey: sshKey?.says ?? "",
    signing,
    missing: [token, sshKey, missingKey(signing)].filter(isMissing),
  };
}

async function tokenFinding(identity: Identity, tokens: Tokens): Promise<ValidationFinding> {
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
    if (!isExpiring(record)) return { what, outcome: "pass", says: `In ${where}.` };
    const { expires = "" } = record;
    if (isExpired(record)) {
      return { what, outcome: "fail", says: `The token expired on ${expires}.`, ...command };
    }
    const says = `In ${where}, and expires on ${expires}.`;
    return { what, outcome: "warn", says, expires, ...command };
  } catch (error) {
    return { what, outcome: "fail", says: (error as Error).message };
  }
}

function isMissing(finding: ValidationFinding | undefined): finding is ValidationFinding {
  return finding?.outcome === "fail" || finding?.outcome === "warn";
}

function missingKey({
  isFound,
  format,
  says,
  guidance,
}: SigningReadiness): ValidationFinding | undefined {
  if (isFound || format === undefined) return undefined;
  return { what: "signing", outcome: "fail", says: `${says} ${guidance}` };
}

/** What is wrong with the guard of a repository. */
export function missingGuard({ isInstalled, broken, says }: GuardStatus): ValidationFinding[] {
  if (isInstalled && broken === undefined) return [];
  const command = "trunkline identity guard install";
  return [{ what: "guard", outcome: broken === undefined ? "warn" : "fail", says, command }];
}

export interface SshLogin {
  readonly isOk: boolean;
  /** The user that the forge greets. */
  readonly user: string | undefined;
  readonly says: string;
}

/** The greetings of forges for a login without a command. Forges then end with exit code 1. */
const GREETINGS: readonly RegExp[] = [
  /Hi ([^\s!]+)! You've successfully authenticated/,
  /Welcome to GitLab, @([^\s!]+)!/,
  /logged in as ([^\s.]+)/,
  /authenticated via (?:an? )?ssh key/i,
  /Hi there, ([^\s!]+)! You've successfully authenticated/,
];

/**
 * Logs in with the identity's own key only. It succeeds if the forge greets the user, or ssh ends
 * with 0; any other output does not count.
 */
export async function logInBySsh(identity: Identity, env: NodeJS.ProcessEnv): Promise<SshLogin> {
  const { sshKey, sshHost, host, user } = identity;
  // The SSH configuration has the host and user of an alias.
  const target = sshHost ?? (host === undefined ? undefined : `git@${splitHost(host).name}`);
  if (target === undefined)
    return { isOk: false, user: undefined, says: "the identity has no host" };
  const args = [
    ...sshConfigArguments(env),
    ...["-T", "-o", "BatchMode=yes", "-o", `ConnectTimeout=${TIMEOUT / 1000}`],
    ...["-o", "StrictHostKeyChecking=yes", "-o", "NumberOfPasswordPrompts=0"],
    ...(sshKey === undefined ? [] : ["-i", sshKey, "-o", "IdentitiesOnly=yes"]),
    ...["--", target],
  ];
  const { code, out, err } = await quietRunner({ env, timeout: TIMEOUT })("ssh", args);
  if (code === undefined) return { isOk: false, user: undefined, says: err };
  return judgeLogin(code, `${out}\n${err}`, user);
}

/** The result, from the exit code and the greeting. */
function judgeLogin(code: number | string, said: string, wanted: string | undefined): SshLogin {
  const greeting = GREETINGS.map((each) => each.exec(said)).find((found) => found !== null);
  const user = greeting?.[1];
  const isIn = code === 0 || (code === 1 && greeting !== undefined);
  if (!isIn) {
    const lines = said.split("\n").filter((line) => line.trim() !== "");
    const last = maskText(lines.at(-1)?.trim() ?? `ssh ended with ${code}`);
    return { isOk: false, user: undefined, says: `${last}${adviceFor(said)}` };
  }
  if (user !== undefined && wanted !== undefined && user.toLowerCase() !== wanted.toLowerCase()) {
    return { isOk: false, user, says: `the key belongs to '${user}', not to '${wanted}'` };
  }
  const says = user === undefined ? "logged in; it did not say as whom" : `logged in as ${user}`;
  return { isOk: true, user, says };
}

function adviceFor(said: string): string {
  if (/Host key verification failed|host key is known/i.test(said)) {
    return " (the host key is unknown: connect once by hand, and compare its fingerprint)";
  }
  if (/Permission denied \(/.test(said)) return " (the forge does not accept the key)";
  return "";
}
