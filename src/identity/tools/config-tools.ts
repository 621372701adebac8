import { mask } from "../../base/text/mask.ts";
import { type Arguments, textResult, type ToolResult } from "../../tool/tool.ts";
import { MODE_WORDS, type SecurityMode } from "./security-mode.ts";
import { changeLines } from "./switch-tools.ts";
import type { ToolCommands } from "./tool-commands.ts";

/** `juggler_sync_config` */
export async function syncConfig(args: Arguments, commands: ToolCommands): Promise<ToolResult> {
  if (args.dryRun === true) {
    const { settings, notes } = await commands.identities.planSync();
    const lines = settings.flatMap(({ file, before, after }) => [
      `[DRY RUN] ${file}`,
      ...before.filter((line) => !after.includes(line)).map((line) => `  - ${line}`),
      ...after.filter((line) => !before.includes(line)).map((line) => `  + ${line}`),
    ]);
    const none = settings.length === 0 ? ["[OK] Nothing to change."] : [];
    const told = notes.map((note) => `[INFO] ${note}`);
    return textResult(["Configuration sync (dry run)", ...none, ...lines, ...told].join("\n"));
  }
  const applied = await commands.identities.sync();
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
