import { dirname, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { describeProblem, type Problem } from "../base/check.ts";
import { TrunklineError } from "../base/errors.ts";
import type { AgentCommitRule } from "./agent-commits.ts";
import { Git } from "../git/git.ts";
import { applyPlan, type ChangePlan, recoverIfNeeded } from "./switch/apply.ts";
import {
  detectIdentity,
  identityStatus,
  readGitContext,
  readRepositoryContext,
  rightIdentity,
} from "./detect/detect.ts";
import {
  findIdentity,
  type Identity,
  type IdentitySettings,
  resolveIdentities,
  splitHost,
} from "./identity.ts";
import {
  importJuggler,
  type JugglerImport,
  type JugglerValues,
  jugglerView,
} from "./juggler/import-juggler.ts";
import { Journal, type JournalState, type SettingChange } from "./switch/journal.ts";
import { planSwitch, type SwitchOptions, globalTarget } from "./switch/switch-plan.ts";
import { existsSync, readdirSync } from "node:fs";
import {
  readConfigBytes,
  restoreKeys,
  type RestoreOptions,
  readValues,
  editConfig,
} from "../git/config/edit-config.ts";
import { canonicalKey, GitConfig } from "../git/config/git-config.ts";
import {
  bytesOf,
  type FileChange,
  isSame,
  type CurrentFile,
  readCurrent,
} from "../base/file/file-change.ts";
import {
  blockLines,
  MANAGED_BLOCK,
  withBlock,
  withoutBlock,
  gitBlockLines,
  IN_SUBMODULES,
  includeConditions,
  includedFile,
  isOfRemote,
  needsSshHost,
  sshBlockLines,
} from "./switch/managed-blocks.ts";
import { mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { gitSettings } from "./git-settings.ts";
import { sshConfigFile, sshOptions } from "./detect/ssh-options.ts";

/** A value to set in the configuration file; undefined removes it. */
export interface SettingsEdit {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** The user's configuration file, in which identities are kept. */
export interface IdentitiesFile {
  readonly path: string;
  /**
   * It was named with `--config` or `TRUNKLINE_CONFIG`, so programs that we start must get that
   * too.
   */
  readonly isNamed: boolean;
  /** Writes all edits or none. Comments and layout stay. */
  edit(edits: readonly SettingsEdit[]): Promise<void>;
  /** Checks settings before they are written; returns the first problem. */
  check(settings: IdentitySettings): Promise<Problem | undefined>;
}

export interface IdentitiesOptions {
  /** The identities as they are configured, by name. */
  readonly settings: Readonly<Record<string, IdentitySettings>>;
  /** Who agents are in git. */
  readonly agentCommits?: readonly AgentCommitRule[] | undefined;
  /** The rest of RemoteJuggler's configuration, besides identities. */
  readonly juggler?: JugglerValues | undefined;
  readonly file: IdentitiesFile;
  /** The data folder, with the journal of switches. */
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export type SwitchRequest = Omit<SwitchOptions, "env" | "identities">;

export type Identities = ReturnType<typeof identitiesFrom>;

/** The configured identities, and the operations on them. */
export function identitiesFrom(options: IdentitiesOptions) {
  const { settings: configured, file, data, env, cwd, juggler } = options;
  const list = resolveIdentities(configured, env);
  const journal = new Journal(data);
  const find = (name: string): Identity => findIdentity(list, name);
  const gitIn = (folder: string): Git => new Git(resolve(cwd, folder), { env });
  const contextOf = (folder: string) => readGitContext(gitIn(folder));
  const put = (name: string, value: unknown) => file.edit([{ path: ["identities", name], value }]);
  return {
    list,
    /** The user's file, in which they are kept. */
    file: file.path,
    find,
    /** Completes or rolls back an interrupted change. Call it before anything else; it is cheap. */
    recover: () => recoverIfNeeded(journal),
    detect: async (folder: string) => await detectIdentity(list, await contextOf(folder)),
    /** The name of the identity that a folder needs, if that can be decided. */
    right: async (folder: string) =>
      (await rightIdentity(list, await contextOf(folder), env)).identity?.name,
    status: async (folder: string) => await identityStatus(list, await contextOf(folder), env),

    async planSwitch(name: string, folder: string, request: SwitchRequest = {}) {
      const identity = find(name);
      const git = gitIn(folder);
      const context = request.global ? await readGitContext(git) : await readRepositoryContext(git);
      return await planSwitch(identity, context, { ...request, env, identities: list });
    },

    /**
     * Undoes the last change in a folder's work tree; without a folder, the last change of the user's
     * own files.
     */
    async planUndo(folder: string | undefined, how: Omit<UndoOptions, "worktree">) {
      const { id } = how;
      if (folder === undefined || id !== undefined) return await planUndo(journal, gitIn("/"), how);
      const git = gitIn(folder);
      const { repository } = await readRepositoryContext(git);
      const { worktree = repository.commonDir } = repository;
      return await planUndo(journal, git, { ...how, worktree });
    },

    /** Writes the managed blocks in the person's own configuration of ssh and git, or removes them. */
    planSync: (how: { readonly remove?: boolean } = {}) =>
      planSync(list, gitIn("/"), { ...how, env, folder: join(dirname(file.path), "identities") }),

    /** Makes a plan and carries it out. The plan is made once no other change is running. */
    apply: (folder: string, makePlan: () => Promise<ChangePlan>) =>
      applyPlan(journal, gitIn(folder), makePlan),

    /** The changes in the journal, oldest first. */
    history: () => journal.entries(),

    /** Writes an identity to the user's file. Throws "usage" where a new one has the name of another. */
    async save(name: string, settings: IdentitySettings, isNew: boolean): Promise<void> {
      checkName(name);
      if (isNew && list.some((identity) => identity.name === name)) {
        const next = `Change it with \`trunkline identity edit ${name}\``;
        throw new TrunklineError("usage", `There is already an identity '${name}'. ${next}`);
      }
      if (!isNew) find(name);
      const problem = await file.check(settings);
      if (problem !== undefined) {
        // About the given values, not about the file, which does not have them yet.
        const says = describeProblem("", problem);
        throw new TrunklineError("usage", `Cannot save identity '${name}': ${says}`);
      }
      await put(name, settings);
    },

    async remove(name: string): Promise<void> {
      find(name);
      await put(name, undefined);
    },

    /** Reads RemoteJuggler's configuration; `importAll` takes it over. */
    readJuggler: importJuggler,

    async importAll({ identities, rest }: JugglerImport): Promise<void> {
      for (const name of Object.keys(identities)) checkName(name);
      const edits: SettingsEdit[] = Object.entries(identities).map(([name, value]) => {
        return { path: ["identities", name], value };
      });
      if (Object.keys(rest).length > 0) edits.push({ path: ["x-juggler"], value: rest });
      await file.edit(edits);
    },

    jugglerView: () => jugglerView(configured, juggler),
  };
}

/** Names go on command lines and into files. */
function checkName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N}_.@+ /-]{0,63}$/u.test(name)) return;
  const why =
    "a name begins with a letter or digit and has at most 64 letters, digits, spaces and . _ @ + / -";
  throw new TrunklineError("usage", `Cannot name an identity '${name}': ${why}`);
}

export interface UndoOptions {
  /** The work tree whose last change is undone; by default the user's own configuration. */
  readonly worktree?: string;
  /** One change, by its id. */
  readonly id?: string;
  /** Restores also settings that somebody has changed since; those later changes are lost. */
  readonly force?: boolean;
}

/** Plans an undo, which keeps whatever git or a person has written since. Changes nothing. */
export async function planUndo(
  journal: Journal,
  git: Git,
  options: UndoOptions = {},
): Promise<ChangePlan> {
  const entries = await journal.entries();
  const { force = false } = options;
  const entry = findEntry(entries, options);
  const later = force ? [] : laterSwitches(entries, entry);
  const now = entry.files.map(({ path }) => bytesOf(path));
  const undo = async (except?: ReadonlySet<string>): Promise<UndoneFile[]> => {
    const keys = { force, ...(except && { except }) };
    return await Promise.all(entry.files.map((change, at) => undoFile(git, change, now[at], keys)));
  };
  const notes: string[] = [];
  let undone = await undo();
  if (await mustStayOn(git, entry, undone)) {
    undone = await undo(WORKTREE_KEYS);
    notes.push("extensions.worktreeConfig stays on: other work trees use it.");
  }
  const files: FileChange[] = [];
  for (const [at, change] of entry.files.entries()) {
    const { path } = change;
    const { bytes, changedSince = [] } = undone[at] ?? {};
    const owner = later.find(({ settings }) => settings.some((each) => isOwned(each, path)));
    if (owner !== undefined) {
      const to = `'${path}' was switched to '${owner.identity}' later, and stays`;
      notes.push(`${to}. Undo that first: trunkline identity undo --id ${owner.id}`);
      continue;
    }
    if (!existsSync(dirname(path))) {
      notes.push(`'${path}' was not restored: its folder does not exist.`);
      continue;
    }
    if (changedSince.length > 0) {
      const what = `${changedSince.join(", ")} in '${path}'`;
      notes.push(`Not undone, because it was changed since: ${what}. Use --force to undo it too.`);
    }
    if (!isSame(now[at], bytes)) files.push({ ...change, before: now[at], after: bytes });
  }
  return {
    kind: "undo",
    subject: entry.subject,
    undoes: entry.id,
    ...(entry.identity === undefined ? {} : { identity: entry.identity }),
    settings: await undoneSettings(git, entry, files),
    files,
    notes,
  };
}

/** The settings whose change the undo takes back. */
async function undoneSettings(
  git: Git,
  { settings }: JournalState,
  files: readonly FileChange[],
): Promise<SettingChange[]> {
  const undone: SettingChange[] = [];
  for (const { path, ...change } of files) {
    const own = settings.filter(({ file }) => file === path);
    // Git reads the file once, and not at all if only a block was changed: it may be ssh's.
    const hasKeys = own.some(({ key }) => key !== MANAGED_BLOCK);
    const reader = async (bytes: Buffer = Buffer.alloc(0)) => {
      const values = hasKeys ? await readValues(git, bytes) : () => [];
      return (key: string) => (key === MANAGED_BLOCK ? blockLines(bytes) : values(key));
    };
    const [was, is] = [await reader(change.before), await reader(change.after)];
    for (const { key, before, after } of own) {
      if (isDeepStrictEqual(was(key), is(key))) continue;
      undone.push({ file: path, key, before: after, after: before });
    }
  }
  return undone;
}

function findEntry(entries: readonly JournalState[], { worktree, id }: UndoOptions): JournalState {
  const found = entries.filter(canBeUndone).findLast((entry) => {
    return id === undefined ? entry.subject.worktree === worktree : entry.id === id;
  });
  if (found !== undefined) return found;
  const what =
    id !== undefined
      ? `there is no change '${id}' that can be undone`
      : worktree === undefined
        ? "your own configuration has not been changed by Trunkline"
        : `nothing has been switched in '${worktree}'`;
  throw new TrunklineError("not-found", `Cannot undo: ${what}`);
}

function canBeUndone({ kind, outcome, isUndone }: JournalState): boolean {
  return kind !== "undo" && (outcome === "done" || outcome === "finished") && !isUndone;
}

/** Switches that were made after this change and are still in force. */
function laterSwitches(entries: readonly JournalState[], { id }: JournalState): JournalState[] {
  const at = entries.findIndex((entry) => entry.id === id);
  return entries.slice(at + 1).filter((entry) => entry.kind === "switch" && canBeUndone(entry));
}

/**
 * Whether a setting belongs to the identity of a file. Settings of two identities must not be mixed,
 * so the changes of such a file are undone in reverse order. Settings of all work trees and of remotes
 * are independent.
 */
function isOwned({ key, file }: SettingChange, path: string): boolean {
  return file === path && !WORKTREE_KEYS.has(canonicalKey(key)) && !key.startsWith("remote.");
}

/** What a switch changes to give each work tree its own configuration. */
const WORKTREE_KEYS: ReadonlySet<string> = new Set([
  "extensions.worktreeconfig",
  "core.bare",
  "core.worktree",
]);

/**
 * A switch may have turned on extensions.worktreeConfig. If a work tree would still use it after the
 * undo, it stays on: that work tree would lose its identity.
 */
async function mustStayOn(
  git: Git,
  entry: JournalState,
  undone: readonly UndoneFile[],
): Promise<boolean> {
  const { repository } = entry.subject;
  if (repository === undefined) return false;
  const isTurnedOn = entry.settings.some(({ key, file }) => {
    return key === "extensions.worktreeConfig" && file === join(repository, "config");
  });
  if (!isTurnedOn) return false;
  for (const path of worktreeConfigs(repository)) {
    const at = entry.files.findIndex((change) => change.path === path);
    const bytes = at < 0 ? bytesOf(path) : undone[at]?.bytes;
    if (bytes === undefined || (at >= 0 && isSame(bytes, entry.files[at]?.before))) continue;
    if ((await readConfigBytes(git, bytes)).length > 0) return true;
  }
  return false;
}

function worktreeConfigs(commonDir: string): string[] {
  const folder = join(commonDir, "worktrees");
  const linked = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  return [commonDir, ...linked].map((each) => join(each, "config.worktree")).filter(existsSync);
}

interface UndoneFile {
  /** The file's content after the undo; undefined if it will not exist. */
  readonly bytes: Buffer | undefined;
  /** What was not undone, because it was changed since. */
  readonly changedSince?: readonly string[];
}

/**
 * Takes one change of a file back. A file that nobody has touched since is restored byte for byte.
 * In any other, only our own settings or our own block are taken back.
 */
export async function undoFile(
  git: Git,
  change: FileChange,
  now: Buffer | undefined,
  options: RestoreOptions = {},
): Promise<UndoneFile> {
  const { before, after, isGitConfig } = change;
  const { except, force = false } = options;
  if (isSame(now, after) && except === undefined) return { bytes: before };
  // Somebody has deleted the file since, or made it again.
  if (now === undefined || after === undefined) {
    if (force || now === undefined) return { bytes: force ? before : now };
    return { bytes: now, changedSince: ["everything"] };
  }
  if (!isSameBlock(before, after)) return undoBlock(change, now, force);
  if (!isGitConfig) return { bytes: now, changedSince: ["everything"] };
  const empty = Buffer.alloc(0);
  const { bytes, changedSince } = await restoreKeys(git, now, before ?? empty, after, options);
  return { bytes: before === undefined && bytes.length === 0 ? undefined : bytes, changedSince };
}

function undoBlock(
  { before, after, isGitConfig }: FileChange,
  now: Buffer,
  force: boolean,
): UndoneFile {
  const lines = blockLines(before);
  if (isSameBlock(now, before)) return { bytes: now };
  if (!force && !isSameBlock(now, after)) return { bytes: now, changedSince: [MANAGED_BLOCK] };
  if (lines === undefined) return { bytes: withoutBlock(now) };
  // Git uses the last value of a setting, ssh the first.
  return { bytes: withBlock(now, { lines, position: isGitConfig ? "end" : "start" }) };
}

function isSameBlock(one: Buffer | undefined, other: Buffer | undefined): boolean {
  return JSON.stringify(blockLines(one)) === JSON.stringify(blockLines(other));
}

export interface SyncOptions {
  readonly env: NodeJS.ProcessEnv;
  /** The folder for the files that git includes. */
  readonly folder: string;
  /** Removes the blocks. */
  readonly remove?: boolean;
}

/**
 * Plans the changes to the user's SSH and git configuration that make the identities' SSH hosts and
 * folders work without Trunkline. What the user has already configured is left alone.
 */
export async function planSync(
  identities: readonly Identity[],
  git: Git,
  options: SyncOptions,
): Promise<ChangePlan> {
  const notes: string[] = [];
  const wanted = options.remove === true ? [] : identities;
  const ssh = await sshChange(wanted, options, notes);
  const includes = await includesOf(wanted, git, options, notes);
  const now = await readCurrent(globalTarget(options.env).path, 0o666);
  // A path rule counts for submodules too, whose own remotes come after it.
  const remotes = includes.filter(({ condition }) => isOfRemote(condition));
  // Where the conditions for submodules are kept: no name of an identity begins with a dot.
  const inner = join(options.folder, ".submodules.gitconfig");
  const isMixed = remotes.length > 0 && remotes.length < includes.length;
  const again = isMixed ? [{ condition: IN_SUBMODULES, file: inner }] : [];
  const config = blockChange(now, gitBlockLines([...includes, ...again]), "end", true);
  const contents = new Map<string, Buffer>(
    again.map(({ file }) => [file, Buffer.from(`${gitBlockLines(remotes).join("\n")}\n`)]),
  );
  for (const { identity, file } of includes) {
    if (contents.has(file)) continue;
    contents.set(file, await editConfig(git, Buffer.alloc(0), gitSettings(identity)));
  }
  const included = await Promise.all(
    [...contents].map(async ([file, text]) => changeOf(await readCurrent(file, 0o600), text, true)),
  );
  const left = await leftOver([...contents.keys()], options.folder);
  const changes = [...included, ssh, config, ...left].filter((file) => file !== undefined);
  return { kind: "sync", subject: {}, settings: changes.map(describe), files: changes, notes };
}

async function sshChange(
  identities: readonly Identity[],
  { env }: SyncOptions,
  notes: string[],
): Promise<FileChange | undefined> {
  const now = await readCurrent(sshConfigFile(env), 0o600);
  const candidates = identities.filter(needsSshHost);
  const known = await Promise.all(candidates.map((identity) => isKnown(identity, now, env)));
  const missing = candidates.filter((_, at) => !known[at]);
  for (const [at, { sshHost = "" }] of candidates.entries()) {
    if (known[at]) notes.push(`Your SSH configuration already defines '${sshHost}'.`);
  }
  return blockChange(now, sshBlockLines(missing), "start", false);
}

/** Whether ssh already resolves an alias correctly without our block. */
async function isKnown(
  { sshHost = "", host = "", sshKey }: Identity,
  now: CurrentFile,
  env: NodeJS.ProcessEnv,
): Promise<boolean> {
  await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-ssh-"));
  const file = join(folder.path, "config");
  await writeFile(file, withoutBlock(now.bytes) ?? "", { mode: 0o600 });
  try {
    const options = await sshOptions(sshHost, { env, file });
    return (
      options.hostname === splitHost(host).name &&
      options.identitiesOnly &&
      options.identityFiles[0] === sshKey
    );
  } catch {
    return false;
  }
}

interface IdentityInclude {
  readonly identity: Identity;
  readonly condition: string;
  readonly file: string;
}

/**
 * Leaves out conditions that the user's own configuration already has, and those that fit two identities.
 * Git uses the last one, so they are in the order of detection.
 */
async function includesOf(
  identities: readonly Identity[],
  git: Git,
  { env, folder }: SyncOptions,
  notes: string[],
): Promise<IdentityInclude[]> {
  const all = identities.flatMap((identity) => {
    const file = includedFile(folder, identity);
    if (identity.email === undefined || identity.displayName === undefined) return [];
    return includeConditions(identity).map(({ text, weight }) => {
      return { identity, condition: text, weight, file };
    });
  });
  if (all.length === 0) return [];
  const own = await GitConfig.read(git);
  const block = blockLines(bytesOf(globalTarget(env).path))?.join("\n") ?? "";
  const unclear = new Set<string>();
  const clear = all.filter(({ identity: { name }, condition }) => {
    const both = all.find((each) => each.condition === condition && each.identity.name !== name);
    if (both === undefined) return true;
    const names = [name, both.identity.name].toSorted().map((each) => `'${each}'`);
    unclear.add(`${names.join(" and ")} are for the same repositories: git cannot choose there.`);
    return false;
  });
  notes.push(...unclear);
  const sorted = clear.toSorted((one, other) => one.weight - other.weight);
  return sorted.filter(({ condition, file }) => {
    const entries = own.all(`includeif.${condition}.path`);
    const isOurs = entries.every(({ value }) => value === file);
    if (entries.length === 0 || isOurs || block.includes(condition)) return true;
    notes.push(`Your git configuration already has settings for '${condition}'.`);
    return false;
  });
}

/** Files for identities that are no longer included. */
async function leftOver(
  used: readonly string[],
  folder: string,
): Promise<(FileChange | undefined)[]> {
  const paths = (await readdir(folder).catch(() => []))
    .filter((name) => name.endsWith(".gitconfig"))
    .map((name) => join(folder, name));
  const unused = paths.filter((path) => !used.includes(path));
  return await Promise.all(
    unused.map(async (path) => changeOf(await readCurrent(path, 0o600), undefined, true)),
  );
}

function blockChange(
  now: CurrentFile,
  lines: readonly string[],
  position: "start" | "end",
  isGitConfig: boolean,
): FileChange | undefined {
  const { bytes } = now;
  const after = lines.length === 0 ? withoutBlock(bytes) : withBlock(bytes, { lines, position });
  return changeOf(now, after, isGitConfig);
}

function changeOf(
  { path, bytes, mode }: CurrentFile,
  after: Buffer | undefined,
  isGitConfig: boolean,
): FileChange | undefined {
  return isSame(bytes, after) ? undefined : { path, before: bytes, after, mode, isGitConfig };
}

function describe({ path, before, after }: FileChange): SettingChange {
  const lines = (bytes: Buffer | undefined): string[] => blockLines(bytes) ?? [];
  return { file: path, key: MANAGED_BLOCK, before: lines(before), after: lines(after) };
}
