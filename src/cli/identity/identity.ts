import { type ChildProcess, spawn } from "node:child_process";
import { constants } from "node:os";

import { TrunklineError } from "../../base/errors.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { identitiesOptions } from "../../identity/open/open-identities.ts";
import type { IdentityStatus } from "../../identity/detect/detect.ts";
import type { GuardStatus } from "../../identity/guard/install-guard.ts";
import {
  type Identities,
  identitiesFrom,
  type IdentitiesOptions,
} from "../../identity/identities.ts";
import type { IdentityCommands } from "../../identity/identity-commands.ts";
import type { Identity } from "../../identity/identity.ts";
import type { SigningReadiness } from "../../identity/signing/signing-readiness.ts";
import {
  type ValidationFinding,
  missingGuard,
  validationSummary,
} from "../../identity/validate/validate.ts";
import { askSecret } from "../shell/ask.ts";
import type { Invocation, OptionValues, Values } from "../shell/command.ts";
import { columns, linesText, print, printJson, printList } from "../shell/layout.ts";
import { configFlags, openApp } from "../shell/open-app.ts";

/** The configuration, environment and folder that a command line gives to the identities. */
async function identityOptions(invocation: Invocation): Promise<IdentitiesOptions> {
  const { config } = await openApp(invocation);
  const { env, cwd, values } = invocation;
  return identitiesOptions(config, { env, cwd, flags: configFlags(values) });
}

/** Finishes or undoes a change that a crash interrupted, and says so. */
async function repair(invocation: Invocation, identities: Identities): Promise<void> {
  const recovery = await identities.recover();
  if (recovery !== undefined) invocation.err(`trunkline: ${recovery.says}\n`);
}

/** The identities alone. */
export async function openIdentities(invocation: Invocation): Promise<Identities> {
  const identities = identitiesFrom(await identityOptions(invocation));
  await repair(invocation, identities);
  return identities;
}

/**
 * The identities with their tokens and their guard, which the caller disposes of. Loaded only here:
 * commands that read identities start faster without it. `asks`: a person may be asked for a passphrase.
 */
export async function openCommands(
  invocation: Invocation,
  { asks = true }: { readonly asks?: boolean } = {},
): Promise<IdentityCommands> {
  const [options, { openIdentityCommands }] = await Promise.all([
    identityOptions(invocation),
    import("../../identity/identity-commands.ts"),
  ]);
  const canAsk = asks && process.stdin.isTTY && process.stderr.isTTY;
  const commands = openIdentityCommands({ ...options, ...(canAsk ? { ask: askSecret } : {}) });
  await repair(invocation, commands.identities);
  return commands;
}

/** Said where a list of them is empty. */
export const NO_IDENTITIES = "There are no identities. `trunkline identity add NAME` adds one.";

type RepositoryValues = OptionValues<"repo">;

/** `trunkline identity list` */
export async function list(
  invocation: Invocation<Values & { readonly provider: string }>,
): Promise<number> {
  const { provider: wanted } = invocation.values;
  const all = (await openIdentities(invocation)).list;
  const shown = all.filter(({ provider }) => [provider, "all"].includes(wanted));
  const none = all.length > 0 ? `There are no identities for ${wanted}.` : NO_IDENTITIES;
  return printList(invocation, { identities: shown.map(factsOf) }, listing(shown), none);
}

/** `trunkline identity detect` */
export async function detect(invocation: Invocation<RepositoryValues>): Promise<number> {
  const identities = await openIdentities(invocation);
  const detection = await identities.detect(invocation.values.repo ?? ".");
  const { identity, confidence, explanation, notes: more } = detection;
  if (identity === undefined) {
    return print(invocation, detection, "", { notes: [explanation, ...more], code: 1 });
  }
  const notes = [`${explanation} Confidence: ${confidence}.`, ...more];
  return print(invocation, detection, `${visibleLine(identity)}\n`, { notes });
}

/** `trunkline identity status` */
export async function status(invocation: Invocation<RepositoryValues>): Promise<number> {
  const { values } = invocation;
  await using commands = await openCommands(invocation, { asks: false });
  const folder = values.repo ?? ".";
  const found = await commands.identities.status(folder);
  const has = await partsOf(commands, found, folder);
  return print(invocation, { ...found, ...has }, statusLines(found, has, invocation.width));
}

/** What the identity of a repository has on this machine, besides what git is configured to use. */
interface IdentityParts {
  readonly token?: string;
  readonly key?: string;
  readonly signingKey?: SigningReadiness;
  readonly guard?: GuardStatus;
  readonly missing: readonly ValidationFinding[];
}

async function partsOf(
  commands: IdentityCommands,
  { current, detected, worktree }: IdentityStatus,
  folder: string,
): Promise<IdentityParts> {
  const name = current ?? detected.identity;
  const [ready, guard] = await Promise.all([
    name === undefined ? undefined : commands.readiness(name),
    worktree === undefined ? undefined : commands.guardStatus(folder),
  ]);
  return {
    ...(ready && { token: ready.token, key: ready.sshKey, signingKey: ready.signing }),
    ...(guard && { guard }),
    missing: [...(ready?.missing ?? []), ...(guard && name ? missingGuard(guard) : [])],
  };
}

/** `trunkline identity env NAME` */
export async function env(invocation: Invocation): Promise<number> {
  const { values, positionals, data } = invocation;
  await using commands = await openCommands(invocation);
  const { set, unset } = await commands.environmentPlan(positionals[0] ?? "", invocation.env);
  if (values.json === true) return printJson(invocation, { set, unset });
  for (const variable of unset) data(`unset ${variable}\n`);
  for (const [variable, value] of Object.entries(set)) {
    data(`export ${variable}='${value.replaceAll("'", String.raw`'\''`)}'\n`);
  }
  return 0;
}

/** An identity without its raw settings, which include what is kept only for RemoteJuggler. */
function factsOf(identity: Identity): object {
  const { settings: _, ...facts } = identity;
  return facts;
}

function listing(identities: readonly Identity[]): string[][] {
  return [
    ["NAME", "PROVIDER", "HOST", "USER", "EMAIL", "SIGNING"],
    ...identities.map(({ name, provider, host, user, email, signing }) => {
      return [name, provider, host ?? "", user ?? "", email ?? "", signing?.format ?? "none"];
    }),
  ];
}

function statusLines(status: IdentityStatus, has: IdentityParts, width: number): string {
  const { author, signing, sshCommand, switched, current, detected, worktree, gitDir } = status;
  const name = author.name ?? "(no name)";
  const rows: (readonly [string, string])[] = [
    ["Repository", worktree ?? gitDir ?? "not in a repository"],
    ["Author", `${name} <${author.email ?? "no email"}>`],
    ["Identity", current ?? "no configured identity"],
    ["Switched to", switched === undefined ? "none" : `${switched.identity} (${switched.scope})`],
    ["Detected", detectedText(status)],
    ["Signing", signing.commits ? `${signing.format}, ${signing.key ?? "default key"}` : "none"],
    ["SSH", sshCommand ?? "default key"],
    ...(has.token === undefined ? [] : [["Token", has.token] as const]),
    ...(has.key === undefined ? [] : [["SSH key", has.key] as const]),
    ...(has.signingKey?.format === undefined
      ? []
      : [["Signing key", has.signingKey.says] as const]),
    ...(has.guard === undefined ? [] : [["Guard", has.guard.says] as const]),
    ...has.missing.map((part) => [part.expires ? "Soon" : "Missing", missingText(part)] as const),
    ...detected.notes.map((note) => ["Note", note] as const),
  ];
  return linesText(columns(rows, width));
}

function missingText({ what, says, command, expires }: ValidationFinding): string {
  const end = expires === undefined ? "" : `expires on ${expires}: `;
  const remedy = command === undefined ? says : `${end}run \`${command}\``;
  return `${PART_NAMES[what] ?? what}: ${remedy}`;
}

const PART_NAMES: Partial<Record<ValidationFinding["what"], string>> = {
  "ssh-key": "SSH key",
  signing: "signing key",
};

/** Which identity fits the repository, and what to do if another one is used. */
function detectedText({ detected, isRight, current }: IdentityStatus): string {
  const { identity, confidence, explanation } = detected;
  if (identity === undefined) return explanation;
  const verdict = isRight
    ? "which is used here"
    : `but ${current ?? "no identity"} is used here: run \`trunkline identity switch ${identity}\``;
  return `${identity}, ${verdict}. ${explanation} Confidence: ${confidence}.`;
}

type ValidateValues = OptionValues<never, "offline" | "signing">;

const LABELS = { pass: "PASS", fail: "FAIL", warn: "WARN", skip: "SKIP" } as const;

/** `trunkline identity validate [NAME…]` */
export async function validate(invocation: Invocation<ValidateValues>): Promise<number> {
  const { values, positionals } = invocation;
  await using commands = await openCommands(invocation);
  const names =
    positionals.length > 0 ? positionals : commands.identities.list.map(({ name }) => name);
  const notes = names.length === 0 ? [NO_IDENTITIES] : [];
  const found = await commands.validate(names, {
    offline: values.offline === true,
    checkGPG: values.signing === true,
  });
  const lines = found.flatMap((each) => [
    visibleLine(each.identity),
    ...each.findings.map(({ outcome, says }) => `  ${LABELS[outcome]} ${says}`),
    `  ${validationSummary(each)}`,
  ]);
  const code = found.every(({ isOk }) => isOk) ? 0 : 1;
  return print(invocation, { identities: found }, linesText(lines), { notes, code });
}

/** `trunkline identity gpg [NAME]` */
export async function gpg(invocation: Invocation): Promise<number> {
  await using commands = await openCommands(invocation);
  const ready = await commands.signing(invocation.positionals[0]);
  const rows: (readonly [string, string])[] = [
    ["Identity", ready.identity],
    ["Signing", ready.format ?? "no commit signing"],
    ["Key", ready.key ?? "none"],
    ["Hardware key", ready.hardware ? (ready.needsTouch ? "yes, needs a touch" : "yes") : "no"],
    ["Can sign now", ready.canSign ? "yes" : "no"],
    ["", ready.says],
    ["Next step", ready.guidance],
  ];
  const text = linesText(columns(rows, invocation.width));
  return print(invocation, ready, text, { code: ready.canSign ? 0 : 1 });
}

/** Signals that others send to us and mean for the command. */
const PASSED_ON = ["SIGTERM", "SIGHUP", "SIGUSR1", "SIGUSR2"] as const;
/** A terminal sends these to the command too, which would otherwise get them twice. */
const BY_TERMINAL = ["SIGINT", "SIGQUIT"] as const;

/** `trunkline identity exec NAME -- COMMAND` */
export async function exec(invocation: Invocation): Promise<number> {
  const [name = "", command = "", ...args] = invocation.positionals;
  let env: NodeJS.ProcessEnv;
  {
    await using commands = await openCommands(invocation);
    env = await commands.processEnvironment(name, invocation.env);
  }
  return await runCommand(command, args, { cwd: invocation.cwd, env });
}

/** Runs a command in our place. Returns its exit code; 128 and the signal's number if one ended it. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<number> {
  let child: ChildProcess | undefined;
  const pass = (signal: NodeJS.Signals): void => {
    child?.kill(signal);
  };
  const wait = process.stdin.isTTY ? (): void => {} : pass;
  // Before the command runs: a signal that is sent to us once it does must not end us alone.
  for (const signal of PASSED_ON) process.on(signal, pass);
  for (const signal of BY_TERMINAL) process.on(signal, wait);
  try {
    child = spawn(command, args, { ...options, stdio: "inherit" });
    return await ended(command, child);
  } finally {
    for (const signal of PASSED_ON) process.off(signal, pass);
    for (const signal of BY_TERMINAL) process.off(signal, wait);
  }
}

function ended(command: string, child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    child.on("error", (error: NodeJS.ErrnoException) => {
      const isMissing = error.code === "ENOENT";
      const why = isMissing ? "there is no such program" : error.message;
      reject(new TrunklineError("not-found", `Cannot run '${command}': ${why}`));
    });
    child.on("exit", (code, signal) => {
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal]));
    });
  });
}
