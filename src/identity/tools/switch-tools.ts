import { TrunklineError } from "../../base/errors.ts";
import { mask, maskText } from "../../base/text/mask.ts";
import { counted } from "../../base/text/counted.ts";
import type { Arguments } from "../../tool/tool.ts";
import type { Identity } from "../identity.ts";
import type { AppliedChange } from "../switch/apply.ts";
import { MANAGED_BLOCK } from "../switch/managed-blocks.ts";
import { isExpired, showToken } from "../tokens/tokens.ts";
import { validationSummary } from "../validate/validate.ts";
import type { JugglerToolName } from "./definitions.ts";
import { JugglerFault, withKeychain } from "./fault.ts";
import { MODE_WORDS, type SecurityMode } from "./security-mode.ts";
import type { IdentityCommands } from "../identity-commands.ts";

/** What the tools work on: the configured identities and their operations. */
export type ToolCommands = IdentityCommands & {
  /** The same with the configuration read again. */
  reload(): Promise<ToolCommands>;
};

/** Resolves to the lines of the result. `project` is the project's folder, and throws where there is none. */
export type ToolHandler = (
  args: Arguments,
  commands: ToolCommands,
  project: () => string,
) => Promise<string[]>;

/** RemoteJuggler's tools, but for those of `setup-tools.ts`. */
export const IDENTITY_TOOLS = {
  async juggler_list_identities(args, commands) {
    const { provider = "all", includeCredentialStatus = false } = args;
    const { list } = commands.identities;
    const shown = list.filter((each) => provider === "all" || each.provider === provider);
    if (shown.length === 0) {
      const which = provider === "all" ? "" : ` for ${String(provider)}`;
      return [`No identities configured${which}.`, "Add one with `trunkline identity add`."];
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
    return [["Configured Git Identities:", ...blocks].join("\n\n")];
  },

  async juggler_detect_identity(_, commands, project) {
    const folder = project();
    const { worktree, author, detected } = await commands.identities.status(folder);
    if (worktree === undefined && detected.remote === undefined) {
      throw new TrunklineError("not-found", `Not a git repository: ${folder}`);
    }
    const { identity, confidence, explanation, remote, notes } = detected;
    const provider = commands.identities.list.find(({ name }) => name === identity)?.provider;
    return [
      `Repository: ${worktree ?? folder}`,
      `Remote URL: ${remote?.url ?? "(none)"}`,
      `Detected Identity: ${identity ?? "none"}`,
      `Provider: ${provider ?? "unknown"}`,
      `Confidence: ${confidence}`,
      `Reason: ${explanation}`,
      `Current user.name: ${author.name ?? "(not set)"}`,
      `Current user.email: ${author.email ?? "(not set)"}`,
      ...notes.map((note) => `[INFO] ${note}`),
    ];
  },

  async juggler_switch(args, commands, project) {
    const folder = project();
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
    return lines;
  },

  async juggler_status({ verbose = false }, commands, project) {
    const folder = project();
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
    return lines;
  },

  async juggler_sync_config(args, commands) {
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
      return ["Configuration sync (dry run)", ...none, ...lines, ...told];
    }
    const applied = await identities.apply("/", () => identities.planSync());
    const files = applied.plan.files.map(({ path }) => `[OK] ${path}`);
    const lines = applied.plan.settings.length === 0 ? changeLines(applied) : files;
    const notes = applied.plan.notes.map((note) => `[INFO] ${note}`);
    const undo =
      applied.id === undefined ? [] : ["[INFO] Undo with: trunkline identity undo --global"];
    const told = applied.plan.settings.length === 0 ? [] : notes;
    return ["Configuration synchronized", ...lines, ...told, ...undo];
  },

  async juggler_config_show(args, commands) {
    const { section = "all" } = args;
    const { identities, ...rest } = commands.identities.jugglerView();
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
    return [JSON.stringify(mask(shown), null, 2)];
  },

  async juggler_security_mode(args, commands) {
    if (args.mode !== undefined) await commands.modes.set(args.mode as SecurityMode);
    const mode = await commands.modes.get();
    const verb = args.mode === undefined ? "Current security mode" : "Security mode set to";
    return [`${verb}: ${mode}`, MODE_WORDS[mode]];
  },

  async juggler_store_token(args, commands) {
    const identity = commands.identities.find(String(args.identity));
    const kept = await withKeychain(() =>
      commands.tokenCommands.save(identity, String(args.token)),
    );
    return [
      `Token stored for identity: ${identity.name}`,
      `[OK] ${kept.token} in ${kept.where}`,
      ...(kept.expires === undefined ? [] : [`[INFO] It expires on ${kept.expires}.`]),
      ...kept.notes.map((note) => `[WARN] ${note}`),
    ];
  },

  /** Always masked. */
  async juggler_token_get(args, commands) {
    const identity = commands.identities.find(String(args.identity));
    const { token, where, expires } = await withKeychain(() =>
      commands.tokenCommands.show(identity),
    );
    if (token === undefined) return [`No token stored for identity: ${identity.name}`];
    const lines = [`Token for identity: ${identity.name}`, `Token: ${token}`, `Source: ${where}`];
    return [...lines, ...(expires === undefined ? [] : [`Expires: ${expires}`])];
  },

  async juggler_token_clear(args, commands) {
    const identity = commands.identities.find(String(args.identity));
    const wasThere = await withKeychain(() => commands.tokenCommands.clear(identity));
    return [
      wasThere
        ? `Token cleared for identity: ${identity.name}`
        : `No token stored for identity: ${identity.name}`,
    ];
  },

  async juggler_token_verify(args, commands, project) {
    const { identity } = args;
    const name = typeof identity === "string" ? identity : await commands.nameHere(project());
    const verdict = await commands.tokenCommands.verify(commands.identities.find(name));
    const { isOk, says, user, scopes = [], expires } = verdict;
    return failing(isOk, { identity: name }, [
      `Token verification for: ${name}`,
      `${isOk ? "[PASS]" : "[FAIL]"} ${says}`,
      ...(user === undefined ? [] : [`User: ${user}`]),
      ...(scopes.length === 0 ? [] : [`Scopes: ${scopes.join(", ")}`]),
      ...(expires === undefined ? [] : [`Expires: ${expires}`]),
    ]);
  },

  async juggler_validate(args, commands) {
    const identity = commands.identities.find(String(args.identity));
    const [found] = await commands.validate([identity.name], {
      testAuth: args.testAuth !== false,
      checkGPG: args.checkGPG === true,
    });
    if (found === undefined) throw new Error("no identity was validated");
    const { isOk, findings } = found;
    const lines = findings.map(({ outcome, says }) => `${LABELS[outcome]} ${says}`);
    const all = [`Validating identity: ${identity.name}`, ...lines, validationSummary(found)];
    return failing(isOk, { identity: identity.name }, all);
  },

  async juggler_gpg_status(args, commands, project) {
    const name = typeof args.identity === "string" ? args.identity : undefined;
    const folder = name === undefined ? project() : undefined;
    const ready = await commands.signing(name, folder);
    return [
      `GPG/SSH Signing Status: ${ready.identity}`,
      ...(folder === undefined ? [] : [`Repository: ${folder}`]),
      `Format: ${ready.format ?? "none"}`,
      `Key: ${ready.key ?? "none"}`,
      `Key Found: ${yesNo(ready.isFound)}`,
      `Hardware Key: ${yesNo(ready.hardware)}`,
      `Touch Required: ${yesNo(ready.needsTouch)}`,
      `Can Sign Automatically: ${yesNo(ready.canSign)}`,
      `Security Mode: ${await commands.modes.get()}`,
      `Details: ${ready.says}`,
      `Agent Guidance: ${ready.guidance}`,
    ];
  },
} satisfies Partial<Record<JugglerToolName, ToolHandler>>;

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

function changeLines({ plan, recovered }: AppliedChange): string[] {
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

const LABELS = { pass: "[PASS]", fail: "[FAIL]", warn: "[WARN]", skip: "[SKIP]" } as const;

/** The text is the same either way; a failure also has an error code. */
function failing(isOk: boolean, details: object, lines: string[]): string[] {
  if (isOk) return lines;
  throw new JugglerFault("validation-failed", lines.join("\n"), { ...details });
}

function yesNo(value: boolean): string {
  return value ? "yes" : "no";
}
