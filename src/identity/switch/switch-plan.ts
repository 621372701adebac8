import { existsSync } from "node:fs";
import { join } from "node:path";

import { maskText } from "../../base/text/mask.ts";
import { canonicalKey } from "../../git/config/config-list.ts";
import { type ConfigEdit, editConfig, valuesIn } from "../../git/config/edit-config.ts";
import type { Git } from "../../git/git.ts";
import {
  listSubmodules,
  openRepository,
  type Repository,
  type Submodule,
} from "../../git/repository.ts";
import { globalTarget, repositoryTarget } from "./config-target.ts";
import { detectIdentity } from "../detect/detect.ts";
import { type FileChange, readCurrent } from "./file-change.ts";
import type { GitSettingsOptions } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import type { SettingChange } from "./journal.ts";
import type { Plan } from "./apply.ts";
import { rewriteRemotes } from "./rewrite-remotes.ts";
import { readRepositoryContext, type GitContext } from "../detect/git-context.ts";
import { overrideNotes, switchEdits } from "./switch-edits.ts";

export interface SwitchOptions extends GitSettingsOptions {
  /** For all repositories of the person. */
  readonly global?: boolean;
  readonly rewriteRemotes?: boolean;
  /** Also switches the submodules that are checked out, and theirs. */
  readonly recurseSubmodules?: boolean;
  /** All there are: their aliases are known hosts. */
  readonly identities?: readonly Identity[];
  readonly env: NodeJS.ProcessEnv;
}

/** What is to be changed, by the file it stands in. */
type FileEdits = Map<string, ConfigEdit[]>;

const GIT_CONFIG_MODE = 0o666;

/** Everything that has to change for a folder's git to act as an identity. Changes nothing. */
export async function planSwitch(
  identity: Identity,
  context: GitContext,
  options: SwitchOptions,
): Promise<Plan> {
  const edits: FileEdits = new Map();
  const { env } = options;
  if (options.global === true) {
    const target = globalTarget(env);
    const own = switchEdits(identity, target, context, options);
    edits.set(target.path, own);
    const notes = overrideNotes(own, target, context, env);
    return await makePlan(identity, {}, edits, notes);
  }
  const repository = context.repository ?? (await openRepository(context.git));
  const notes = await editRepository(identity, repository, context, options, edits);
  if (options.recurseSubmodules === true) {
    for (const inner of await submodulesOf(repository, context)) {
      notes.push(...(await editSubmodule(identity, inner, options, edits)));
    }
  } else notes.push(...(await submoduleNotes(repository, context)));
  const { commonDir, worktree = commonDir } = repository;
  return await makePlan(identity, { repository: commonDir, worktree }, edits, notes);
}

/** Adds what has to change for one repository. Returns what there is to know of it. */
async function editRepository(
  identity: Identity,
  repository: Repository,
  context: GitContext,
  options: SwitchOptions,
  edits: FileEdits,
): Promise<string[]> {
  const { identities = [identity], env } = options;
  const target = repositoryTarget(repository, context);
  const own = switchEdits(identity, target, context, options);
  if (target.mustTurnOn) await turnOnWorktreeConfig(repository, edits);
  add(edits, target.path, own);
  const notes = overrideNotes(own, target, context, env);
  if (options.rewriteRemotes !== true) return notes;
  const rewritten = rewriteRemotes(identity, identities, repository, context);
  add(edits, join(repository.commonDir, "config"), rewritten.edits);
  return [...notes, ...rewritten.notes];
}

/** One that is for somebody else stays theirs. */
async function editSubmodule(
  identity: Identity,
  { path, repository, context }: CheckedOutSubmodule,
  options: SwitchOptions,
  edits: FileEdits,
): Promise<string[]> {
  const { identity: right } = await detectIdentity(options.identities ?? [identity], context);
  if (right !== undefined && right !== identity.name) {
    return [`Submodule '${path}' belongs to identity '${right}' and was not changed.`];
  }
  const notes = await editRepository(identity, repository, context, options, edits);
  return notes.map((note) => `${path}: ${note}`);
}

function add(edits: FileEdits, path: string, more: readonly ConfigEdit[]): void {
  edits.set(path, [...(edits.get(path) ?? []), ...more]);
}

/** What git does itself when it gives work trees a configuration each (worktree.c). */
async function turnOnWorktreeConfig({ commonDir }: Repository, edits: FileEdits): Promise<void> {
  const [common, main] = [join(commonDir, "config"), join(commonDir, "config.worktree")];
  const { bytes = Buffer.alloc(0) } = await readCurrent(common, GIT_CONFIG_MODE);
  add(edits, common, [{ key: "extensions.worktreeConfig", values: ["true"] }]);
  // These two are the main work tree's own, and would be wrong in the others.
  const bare = valuesIn(bytes, "core.bare").at(-1);
  const worktree = valuesIn(bytes, "core.worktree").at(-1);
  const moved = [
    ...(bare === "true" ? [{ key: "core.bare", values: [bare] }] : []),
    ...(worktree === undefined ? [] : [{ key: "core.worktree", values: [worktree] }]),
  ];
  if (moved.length === 0) return;
  add(
    edits,
    common,
    moved.map(({ key }) => ({ key, values: [] })),
  );
  add(edits, main, moved);
}

async function submoduleNotes(repository: Repository, { git }: GitContext): Promise<string[]> {
  const paths = (await checkedOut(repository, git)).map(({ path }) => path).join(", ");
  if (paths === "") return [];
  return [`Submodules keep their identity: ${paths}. Use --recurse-submodules to switch them too.`];
}

async function makePlan(
  identity: Identity,
  subject: Plan["subject"],
  edits: FileEdits,
  notes: readonly string[],
): Promise<Plan> {
  const { sshKey } = identity;
  const isMissing = sshKey !== undefined && !existsSync(sshKey);
  const missing = isMissing ? [`The SSH key '${sshKey}' does not exist: ssh cannot log in.`] : [];
  const changes = await Promise.all([...edits].map(([path, each]) => changeFile(path, each)));
  return {
    kind: "switch",
    identity: identity.name,
    subject,
    settings: changes.flatMap(({ settings }) => settings),
    files: changes.flatMap(({ file }) => file ?? []),
    notes: [...missing, ...notes],
  };
}

async function changeFile(
  path: string,
  edits: readonly ConfigEdit[],
): Promise<{ readonly file: FileChange | undefined; readonly settings: SettingChange[] }> {
  const now = await readCurrent(path, GIT_CONFIG_MODE);
  const bytes = now.bytes ?? Buffer.alloc(0);
  const after = editConfig(bytes, edits);
  if (after.equals(bytes)) return { file: undefined, settings: [] };
  const file = { path: now.path, before: now.bytes, after, mode: now.mode, isGitConfig: true };
  const keys = new Map(edits.map(({ key }) => [canonicalKey(key), key]));
  const settings = [...keys.values()].flatMap((key) => {
    const [old, fresh] = [valuesIn(bytes, key), valuesIn(after, key)];
    if (old.length === fresh.length && old.every((value, at) => value === fresh[at])) return [];
    return [{ file: now.path, key, before: old.map(maskText), after: fresh.map(maskText) }];
  });
  return { file, settings };
}

/** A submodule that has a work tree. */
interface CheckedOutSubmodule {
  /** As seen from the outermost repository. */
  readonly path: string;
  readonly repository: Repository;
  readonly context: GitContext;
}

/** Those of a repository alone. */
async function checkedOut({ worktree }: Repository, git: Git): Promise<Submodule[]> {
  const all = worktree === undefined ? [] : await listSubmodules(git, worktree);
  return all.filter(({ isCheckedOut }) => isCheckedOut);
}

/** Those of a repository, and theirs, each after the one it is in. */
async function submodulesOf(
  outer: Repository,
  { git }: GitContext,
): Promise<CheckedOutSubmodule[]> {
  const found: CheckedOutSubmodule[] = [];
  for (const { path } of await checkedOut(outer, git)) {
    const folder = join(outer.worktree ?? "", path);
    const context = await readRepositoryContext(git.in(folder));
    const { repository } = context;
    // `.gitmodules` comes with the repository: what it names may lead elsewhere.
    const isInside = folder.startsWith(`${outer.worktree}/`) && repository.worktree === folder;
    if (!isInside) continue;
    found.push({ path, repository, context });
    const inner = await submodulesOf(repository, context);
    found.push(...inner.map((each) => ({ ...each, path: join(path, each.path) })));
  }
  return found;
}
