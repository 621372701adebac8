import { TrunklineError } from "../../base/errors.ts";
import { mask, maskText } from "../../base/text/mask.ts";
import { counted } from "../../base/text/counted.ts";
import { type Arguments, textResult, type ToolResult } from "../../tool/tool.ts";
import type { Identity } from "../identity.ts";
import type { Applied } from "../switch/apply.ts";
import { MANAGED_BLOCK } from "../switch/managed-blocks.ts";
import { isExpired, showToken } from "../tokens/tokens.ts";
import { validationSummary } from "../validate/validate.ts";
import { JugglerFault, withKeychain } from "./fault.ts";
import { MODE_WORDS, type SecurityMode } from "./security-mode.ts";
import type { IdentityCommands } from "../identity-commands.ts";

/** What the tools work on: the configured identities and their operations. */
export type ToolCommands = IdentityCommands & {
  /** The same with the configuration read again. */
  reload(): Promise<ToolCommands>;
};

/** `juggler_list_identities` */
export async function listIdentities(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const { provider = "all", includeCredentialStatus = false } = args;
  const { list } = commands.identities;
  const shown = list.filter((each) => provider === "all" || each.provider === provider);
  if (shown.length === 0) {
    const which = provider === "all" ? "" : ` for ${String(provider)}`;
    return textResult(
      `No identities configured${which}.\nAdd one with \`trunkline identity add\`.`,
    );
  }
  const blocks = await Promise.all(
    shown.map(async (identity) => {
      const { name, user, email, host, sshHost } = identity;
      return [
        `- ${name}`,
        `  Provider: ${identity.provider}`,
        `  User: ${user ?? "(not set)"}`,
        `  Email: ${email ?? "(not set)"}`,
        `  SSH Host: ${sshHost ?? host ?? "(not set)"}`,
        ...(includeCredentialStatus === true
          ? [`  Credentials: ${await credentialWords(identity, commands)}`]
          : []),
      ].join("\n");
    }),
  );
  return textResult(["Configured Git Identities:", ...blocks].join("\n\n"));
}

async function credentialWords(identity: Identity, { tokens }: ToolCommands): Promise<string> {
  try {
    const found = await tokens.find(identity);
    if (found === undefined) return "none";
    const over = isExpired(found.record) ? `, expired on ${found.record.expires}` : "";
    return `${showToken(found.token)} in ${found.where}${over}`;
  } catch (error) {
    if (!(error instanceof TrunklineError)) throw error;
    return `cannot be read: ${error.message}`;
  }
}

/** `juggler_detect_identity` */
export async function detectIdentityTool(
  _: Arguments,
  commands: ToolCommands,
  folder: string,
): Promise<ToolResult> {
  const { worktree, author, detected } = await commands.identities.status(folder);
  if (worktree === undefined && detected.remote === undefined) {
    throw new TrunklineError("not-found", `Not a git repository: ${folder}`);
  }
  const { identity, confidence, explanation, remote, notes } = detected;
  const provider = commands.identities.list.find(({ name }) => name === identity)?.provider;
  return textResult(
    [
      `Repository: ${worktree ?? folder}`,
      `Remote URL: ${remote?.url ?? "(none)"}`,
      `Detected Identity: ${identity ?? "none"}`,
      `Provider: ${provider ?? "unknown"}`,
      `Confidence: ${confidence}`,
      `Reason: ${explanation}`,
      `Current user.name: ${author.name ?? "(not set)"}`,
      `Current user.email: ${author.email ?? "(not set)"}`,
      ...notes.map((note) => `[INFO] ${note}`),
    ].join("\n"),
  );
}

/** `juggler_switch` */
export async function switchIdentity(
  args: Arguments,
  commands: ToolCommands,
  folder: string,
): Promise<ToolResult> {
  const { identity: name, setRemote, configureGPG = true } = args;
  const identity = commands.identities.find(String(name));
  // With a pinned key, remotes need not change. They are rewritten if asked, or if there is no key
  // to pin.
  const { sshHost, sshKey } = identity;
  const isAsked = setRemote === true || (setRemote === undefined && sshKey === undefined);
  const rewriteRemotes = isAsked && sshHost !== undefined;
  const keepSigning = configureGPG === false;
  const applied = await commands.switch(identity.name, folder, { rewriteRemotes, keepSigning });
  const { worktree, repository = folder } = applied.plan.subject;
  const lines = [
    `Switched to identity: ${identity.name}`,
    `Repository: ${worktree ?? repository}`,
    ...changeLines(applied),
  ];
  if (!keepSigning) lines.push(...(await signingLines(identity, commands, folder)));
  if (applied.id !== undefined) {
    lines.push(`[INFO] Undo with: trunkline identity undo --id ${applied.id}`);
  }
  return textResult(lines.join("\n"));
}

function changeLines({ plan, recovered }: Applied): string[] {
  const { settings, notes } = plan;
  return [
    ...(recovered === undefined ? [] : [`[INFO] ${recovered.says}`]),
    ...(settings.length === 0 ? ["[OK] Nothing to change."] : []),
    ...settings.map(({ key, after }) => {
      if (key === MANAGED_BLOCK) return `[OK] ${key}: ${counted(after.length, "line")}`;
      const words = after.filter((each) => each !== "").map((each) => maskText(each));
      return `[OK] ${key}${after.length === 0 ? " removed" : ` = ${words.join(", ")}`}`;
    }),
    ...notes.map((note) => `[INFO] ${note}`),
  ];
}

/** What an agent has to know before its first commit. */
async function signingLines(
  identity: Identity,
  commands: ToolCommands,
  folder: string,
): Promise<string[]> {
  if (identity.signing === undefined) return [];
  const ready = await commands.signing(identity.name, folder);
  if (ready.canSign) return [`[OK] Signing: ${ready.says}`];
  const label = ready.hardware ? "[HARDWARE KEY WARNING]" : "[WARN]";
  return [`${label} ${ready.says} ${ready.guidance}`];
}

/** `juggler_status` */
export async function statusTool(
  { verbose = false }: Arguments,
  commands: ToolCommands,
  folder: string,
): Promise<ToolResult> {
  const { identities } = commands;
  const status = await identities.status(folder);
  const { author, signing, switched, current, detected, isRight, worktree } = status;
  const name = switched?.identity ?? current;
  const identity = identities.list.find((each) => each.name === name);
  const lines = [
    `Working directory: ${folder}`,
    `Repository: ${worktree ?? "(not in a git repository)"}`,
    `Current identity: ${name ?? "none"}${switched === undefined ? "" : ` (${switched.scope})`}`,
    `User: ${author.name ?? "(not set)"} <${author.email ?? "not set"}>`,
    `Remote: ${detected.remote?.url ?? "(none)"}`,
    `Detected identity: ${detected.identity ?? "none"} (confidence: ${detected.confidence})`,
    `Signing: ${signing.commits ? `${signing.format}, key ${signing.key ?? "(default)"}` : "off"}`,
    `Credentials: ${identity === undefined ? "none" : await credentialWords(identity, commands)}`,
    `Config: ${identities.file}`,
  ];
  if (isRight === false) {
    const next = `juggler_switch with identity "${detected.identity}"`;
    lines.push(
      `[WARN] This repository belongs to identity '${detected.identity}'. Switch with ${next}.`,
    );
  }
  lines.push(...detected.notes.map((note) => `[INFO] ${note}`));
  if (verbose === true) lines.push(...(await moreStatus(commands, status.sshCommand)));
  return textResult(lines.join("\n"));
}

async function moreStatus(
  commands: ToolCommands,
  sshCommand: string | undefined,
): Promise<string[]> {
  const recent = (await commands.identities.history()).slice(-5);
  return [
    `ssh: ${sshCommand ?? "ssh"}`,
    `Token store: ${await commands.tokens.describeStore()}`,
    `Security mode: ${await commands.modes.get()}`,
    "Recent changes:",
    ...(recent.length === 0 ? ["  none"] : []),
    ...recent.map(({ at, kind, identity, outcome, isUndone }) => {
      const end = isUndone ? "undone" : (outcome ?? "interrupted");
      return `  ${at} ${kind} ${identity ?? ""} (${end})`;
    }),
  ];
}

/** `juggler_sync_config` */
export async function syncConfig(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const { identities } = commands;
  if (args.dryRun === true) {
    const { settings, notes } = await identities.planSync();
    const lines = settings.flatMap(({ file, before, after }) => [
      `[DRY RUN] ${file}`,
      ...before.filter((line) => !after.includes(line)).map((line) => `  - ${line}`),
      ...after.filter((line) => !before.includes(line)).map((line) => `  + ${line}`),
    ]);
    const none = settings.length === 0 ? ["[OK] Nothing to change."] : [];
    const told = notes.map((note) => `[INFO] ${note}`);
    return textResult(["Configuration sync (dry run)", ...none, ...lines, ...told].join("\n"));
  }
  const applied = await identities.apply("/", () => identities.planSync());
  const files = applied.plan.files.map(({ path }) => `[OK] ${path}`);
  const lines = applied.plan.settings.length === 0 ? changeLines(applied) : files;
  const notes = applied.plan.notes.map((note) => `[INFO] ${note}`);
  const undo =
    applied.id === undefined ? [] : ["[INFO] Undo with: trunkline identity undo --global"];
  const told = applied.plan.settings.length === 0 ? [] : notes;
  return textResult(["Configuration synchronized", ...lines, ...told, ...undo].join("\n"));
}

/** `juggler_config_show` */
export async function showConfig(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const { section = "all" } = args;
  const { identities, ...rest } = commands.identities.exportJuggler();
  const { settings = {}, state: _, ...others } = rest as Record<string, unknown>;
  const sections: Readonly<Record<string, () => unknown>> = {
    identities: () => identities ?? {},
    settings: () => settings,
    state: () => stateOf(commands),
    managed_ssh: () => blockOf(commands, /\/\.ssh\//),
    managed_git: () => blockOf(commands, /git/),
  };
  const one = sections[String(section)];
  const shown =
    one === undefined
      ? { ...others, identities: identities ?? {}, settings, state: await stateOf(commands) }
      : await one();
  return textResult(JSON.stringify(mask(shown), null, 2));
}

async function stateOf(commands: ToolCommands): Promise<object> {
  const history = await commands.identities.history();
  const last = history.findLast(({ kind, outcome }) => kind === "switch" && outcome === "done");
  return {
    currentIdentity: last?.identity ?? null,
    lastSwitch: last?.at ?? null,
    securityMode: await commands.modes.get(),
    store: await commands.tokens.describeStore(),
  };
}

/** What a sync would still change in files whose path matches. */
async function blockOf(commands: ToolCommands, files: RegExp): Promise<object> {
  const { settings } = await commands.identities.planSync();
  const pending = settings.filter(({ file }) => files.test(file));
  return { isInSync: pending.length === 0, pending };
}

/** `juggler_security_mode` */
export async function securityMode(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  if (args.mode !== undefined) await commands.modes.set(args.mode as SecurityMode);
  const mode = await commands.modes.get();
  const verb = args.mode === undefined ? "Current security mode" : "Security mode set to";
  return textResult(`${verb}: ${mode}\n${MODE_WORDS[mode]}`);
}

/** `juggler_store_token` */
export async function storeToken(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const kept = await withKeychain(() => commands.tokenCommands.save(identity, String(args.token)));
  return textResult(
    [
      `Token stored for identity: ${identity.name}`,
      `[OK] ${kept.token} in ${kept.where}`,
      ...(kept.expires === undefined ? [] : [`[INFO] It expires on ${kept.expires}.`]),
      ...kept.notes.map((note) => `[WARN] ${note}`),
    ].join("\n"),
  );
}

/** `juggler_token_get`: always masked. */
export async function getToken(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const { token, where, expires } = await withKeychain(() => commands.tokenCommands.show(identity));
  if (token === undefined) return textResult(`No token stored for identity: ${identity.name}`);
  const lines = [`Token for identity: ${identity.name}`, `Token: ${token}`, `Source: ${where}`];
  return textResult(
    [...lines, ...(expires === undefined ? [] : [`Expires: ${expires}`])].join("\n"),
  );
}

/** `juggler_token_clear` */
export async function clearToken(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const wasThere = await withKeychain(() => commands.tokenCommands.clear(identity));
  return textResult(
    wasThere
      ? `Token cleared for identity: ${identity.name}`
      : `No token stored for identity: ${identity.name}`,
  );
}

/** `juggler_token_verify` */
export async function verifyToken(
  args: Arguments,
  commands: ToolCommands,
  folder: string | undefined,
): Promise<ToolResult> {
  const isNamed = typeof args.identity === "string";
  const name = isNamed ? String(args.identity) : await commands.nameHere(folder ?? "");
  const verdict = await commands.tokenCommands.verify(commands.identities.find(name));
  const { isOk, says, user, scopes = [], expires } = verdict;
  const text = [
    `Token verification for: ${name}`,
    `${isOk ? "[PASS]" : "[FAIL]"} ${says}`,
    ...(user === undefined ? [] : [`User: ${user}`]),
    ...(scopes.length === 0 ? [] : [`Scopes: ${scopes.join(", ")}`]),
    ...(expires === undefined ? [] : [`Expires: ${expires}`]),
  ].join("\n");
  return failing(isOk, text, { identity: name });
}

const LABELS = { pass: "[PASS]", fail: "[FAIL]", warn: "[WARN]", skip: "[SKIP]" } as const;

/** `juggler_validate` */
export async function validateTool(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  const identity = commands.identities.find(String(args.identity));
  const [found] = await commands.validate([identity.name], {
    testAuth: args.testAuth !== false,
    checkGPG: args.checkGPG === true,
  });
  if (found === undefined) throw new Error("no identity was validated");
  const { isOk, findings } = found;
  const lines = findings.map(({ outcome, says }) => `${LABELS[outcome]} ${says}`);
  const title = `Validating identity: ${identity.name}`;
  const text = [title, ...lines, validationSummary(found)].join("\n");
  return failing(isOk, text, { identity: identity.name });
}

/** The text is the same either way; a failure also has an error code. */
function failing(isOk: boolean, text: string, details: object): ToolResult {
  if (isOk) return textResult(text);
  throw new JugglerFault("validation-failed", text, { ...details });
}

/** `juggler_gpg_status` */
export async function gpgStatus(
  args: Arguments,
  commands: ToolCommands,
  folder: string | undefined,
): Promise<ToolResult> {
  const name = typeof args.identity === "string" ? args.identity : undefined;
  const ready = await commands.signing(name, folder);
  return textResult(
    [
      `GPG/SSH Signing Status: ${ready.identity}`,
      ...(name === undefined ? [`Repository: ${folder}`] : []),
      `Format: ${ready.format ?? "none"}`,
      `Key: ${ready.key ?? "none"}`,
      `Key Found: ${yesNo(ready.isFound)}`,
      `Hardware Key: ${yesNo(ready.hardware)}`,
      `Touch Required: ${yesNo(ready.needsTouch)}`,
      `Can Sign Automatically: ${yesNo(ready.canSign)}`,
      `Security Mode: ${await commands.modes.get()}`,
      `Details: ${ready.says}`,
      `Agent Guidance: ${ready.guidance}`,
    ].join("\n"),
  );
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}
