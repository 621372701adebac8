import type { IdentityStatus } from "../../identity/detect/status.ts";
import type { GuardStatus } from "../../identity/guard/install-guard.ts";
import type { Identity } from "../../identity/identity.ts";
import type { IdentityCommands } from "../../identity/identity-commands.ts";
import type { SigningReadiness } from "../../identity/signing/signing-readiness.ts";
import type { MissingPart } from "../../identity/validate/readiness.ts";
import type { Invocation } from "../shell/command.ts";
import { openCommands, openIdentities } from "./open-identities.ts";
import { columns, table } from "../shell/layout.ts";
import { visibleLine } from "../../base/text/visible.ts";

/** Said where a list of them is empty. */
export const NO_IDENTITIES = "There are no identities. `trunkline identity add NAME` adds one.\n";

type Printing = { readonly json?: boolean };
type InRepository = Printing & { readonly repo?: string };

/** `trunkline identity list` */
export async function list(
  invocation: Invocation<Printing & { readonly provider: string }>,
): Promise<number> {
  const { values, out, err } = invocation;
  const all = (await openIdentities(invocation)).list;
  const shown = all.filter(({ provider }) => [provider, "all"].includes(values.provider));
  if (values.json) out(toJson({ identities: shown.map(factsOf) }));
  else if (shown.length > 0) out(listing(shown));
  else if (all.length > 0) err(`There are no identities for ${values.provider}.\n`);
  else err(NO_IDENTITIES);
  return 0;
}

/** `trunkline identity detect` */
export async function detect(invocation: Invocation<InRepository>): Promise<number> {
  const { values, out, err } = invocation;
  const identities = await openIdentities(invocation);
  const detection = await identities.detect(values.repo ?? ".");
  if (values.json) out(toJson(detection));
  else {
    const { identity, confidence, explanation, notes } = detection;
    if (identity !== undefined) out(`${visibleLine(identity)}\n`);
    const sure = identity === undefined ? "" : ` Confidence: ${confidence}.`;
    err(`${explanation}${sure}\n`);
    for (const note of notes) err(`${note}\n`);
  }
  return detection.identity === undefined ? 1 : 0;
}

/** `trunkline identity status` */
export async function status(invocation: Invocation<InRepository>): Promise<number> {
  const { values, out } = invocation;
  await using commands = await openCommands(invocation, { asks: false });
  const folder = values.repo ?? ".";
  const found = await commands.identities.status(folder);
  const has = await partsOf(commands, found, folder);
  if (values.json) out(toJson({ ...found, ...has }));
  else out(statusLines(found, has, invocation.width));
  return 0;
}

/** What the identity of a repository has on this machine, besides what git is configured to use. */
interface IdentityParts {
  readonly token?: string;
  readonly key?: string;
  readonly signingKey?: SigningReadiness;
  readonly guard?: GuardStatus;
  readonly missing: readonly MissingPart[];
}

async function partsOf(
  commands: IdentityCommands,
  { current, detected, worktree }: IdentityStatus,
  folder: string,
): Promise<IdentityParts> {
  const name = current ?? detected.identity;
  const { missingGuard } = await import("../../identity/validate/readiness.ts");
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
export async function env(invocation: Invocation<Printing>): Promise<number> {
  const { values, positionals, out, data } = invocation;
  await using commands = await openCommands(invocation);
  const { set, unset } = await commands.environmentPlan(positionals[0] ?? "", invocation.env);
  if (values.json) {
    out(toJson({ set, unset }));
    return 0;
  }
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

function listing(identities: readonly Identity[]): string {
  return table([
    ["NAME", "PROVIDER", "HOST", "USER", "EMAIL", "SIGNING"],
    ...identities.map(({ name, provider, host, user, email, signing }) => {
      return [name, provider, host ?? "", user ?? "", email ?? "", signing?.format ?? "none"];
    }),
  ]);
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
    ...has.missing.map((part) => ["Missing", missingText(part)] as const),
    ...detected.notes.map((note) => ["Note", note] as const),
  ];
  return columns(rows, width)
    .map((line) => `${line}\n`)
    .join("");
}

function missingText({ what, says, command }: MissingPart): string {
  const remedy = command === undefined ? says : `run \`${command}\``;
  return `${PART_NAMES[what]}: ${remedy}`;
}

const PART_NAMES = {
  token: "token",
  "ssh-key": "SSH key",
  signing: "signing key",
  guard: "guard",
} as const;

/** Which identity fits the repository, and what to do if another one is used. */
function detectedText({ detected, isRight, current }: IdentityStatus): string {
  const { identity, confidence, explanation } = detected;
  if (identity === undefined) return explanation;
  const verdict = isRight
    ? "which is used here"
    : `but ${current ?? "no identity"} is used here: run \`trunkline identity switch ${identity}\``;
  return `${identity}, ${verdict}. ${explanation} Confidence: ${confidence}.`;
}

export function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
