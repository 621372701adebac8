import { TrunklineError } from "../../base/errors.ts";
import { maskText } from "../../base/text/mask.ts";
import { type Arguments, textResult, type ToolResult } from "../../tool/tool.ts";
import type { Applied } from "../switch/apply.ts";
import { MANAGED_BLOCK } from "../switch/managed-blocks.ts";
import type { Identity } from "../identity.ts";
import { isExpired, showToken } from "../tokens/tokens.ts";
import type { ToolCommands } from "./tool-commands.ts";

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

export function changeLines({ plan, recovered }: Applied): string[] {
  const { settings, notes } = plan;
  return [
    ...(recovered === undefined ? [] : [`[INFO] ${recovered.says}`]),
    ...(settings.length === 0 ? ["[OK] Nothing to change."] : []),
    ...settings.map(({ key, after }) => {
      if (key === MANAGED_BLOCK) return `[OK] ${key}: ${after.length} lines`;
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
