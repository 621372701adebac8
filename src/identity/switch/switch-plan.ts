import { existsSync } from "node:fs";
import { join } from "node:path";

import { maskText } from "../../base/text/mask.ts";
import { canonicalKey } from "../../git/config/git-config.ts";
import { type ConfigEdit, editConfig, valuesIn } from "../../git/config/edit-config.ts";
import type { Git } from "../../git/git.ts";
import { listSubmodules, openRepository, type Submodule } from "../../git/repository.ts";
import type { Repository } from "../../git/git-folder.ts";
import { globalTarget, repositoryTarget } from "./config-target.ts";
import { detectIdentity } from "../detect/detect.ts";
import { type FileChange, readCurrent } from "../../base/file/file-change.ts";
import type { GitSettingsOptions } from "../git-settings.ts";
import type { Identity } from "../identity.ts";
import type { SettingChange } from "./journal.ts";
import type { Plan } from "./apply.ts";
import { rewriteRemotes } from "./rewrite-remotes.ts";
import { readRepositoryContext, type GitContext } from "../detect/git-context.ts";
import { overrideNotes, switchEdits } from "./switch-edits.ts";

export interface SwitchOptions extends GitSettingsOptions {
  /** Applies to all repositories of the user. */
  readonly global?: boolean;
  readonly rewriteRemotes?: boolean;
  /** Also switches checked-out submodules, recursively. */
  readonly recurseSubmodules?: boolean;
  /** All identities: their SSH hosts are known aliases. */
  readonly identities?: readonly Identity[];
  readonly env: NodeJS.ProcessEnv;
}

/** The edits of each file. */
type FileEdits = Map<string, ConfigEdit[]>;

const GIT_CONFIG_MODE = 0o666;

/** Plans the changes that make git in a folder use an identity. Changes nothing. */
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
  const notes = await unfitNotes(identity, context, options);
  notes.push(...(await editRepository(identity, repository, context, options, edits)));
  if (options.recurseSubmodules === true) {
    for (const inner of await submodulesOf(repository, context)) {
      notes.push(...(await editSubmodule(identity, inner, options, edits)));
    }
  } else notes.push(...(await submoduleNotes(repository, context)));
  const { commonDir, worktree = commonDir } = repository;
  return await makePlan(identity, { repository: commonDir, worktree }, edits, notes);
}

/** A switch to an identity that the repository is not for is done all the same, but not silently. */
async function unfitNotes(
  identity: Identity,
  context: GitContext,
  { identities = [identity] }: SwitchOptions,
): Promise<string[]> {
  const { candidates, remote } = await detectIdentity(identities, context);
  const [best] = candidates;
  const where = remote === undefined ? "This repository" : `The remote '${remote.name}'`;
  if (best === undefined) {
    if (remote === undefined) return [];
    return [`${where} (${remote.url}) does not match identity '${identity.name}', nor another.`];
  }
  const own = candidates.find((each) => each.identity === identity.name);
  if (own?.weight === best.weight) return [];
  const says = `${where} belongs to identity '${best.identity}', which ${best.says}, not to '${identity.name}'`;
  return [`${says}. The guard would refuse commits and pushes, and git gets no token.`];
}

/** Adds the edits for one repository. Returns notes. */
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

/** A submodule that matches another identity is not switched. */
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

/** Does what git does to turn it on (git's worktree.c, `init_worktree_config`). */
async function turnOnWorktreeConfig({ commonDir }: Repository, edits: FileEdits): Promise<void> {
  const [common, main] = [join(commonDir, "config"), join(commonDir, "config.worktree")];
  const { bytes = Buffer.alloc(0) } = await readCurrent(common, GIT_CONFIG_MODE);
  add(edits, common, [{ key: "extensions.worktreeConfig", values: ["true"] }]);
  // These two apply only to the main work tree and would be wrong in the others.
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

/** A checked-out submodule. */
interface CheckedOutSubmodule {
  /** Relative to the outermost repository. */
  readonly path: string;
  readonly repository: Repository;
  readonly context: GitContext;
}

/** The direct submodules of a repository that are checked out. */
async function checkedOut({ worktree }: Repository, git: Git): Promise<Submodule[]> {
  const all = worktree === undefined ? [] : await listSubmodules(git, worktree);
  return all.filter(({ isCheckedOut }) => isCheckedOut);
}

/** All checked-out submodules, each after the one that contains it. */
async function submodulesOf(
  outer: Repository,
  { git }: GitContext,
): Promise<CheckedOutSubmodule[]> {
  const found: CheckedOutSubmodule[] = [];
  for (const { path } of await checkedOut(outer, git)) {
    const folder = join(outer.worktree ?? "", path);
    const context = await readRepositoryContext(git.in(folder));
    const { repository } = context;
    // `.gitmodules` is not trusted: a path in it may lead outside the repository.
    const isInside = folder.startsWith(`${outer.worktree}/`) && repository.worktree === folder;
    if (!isInside) continue;
    found.push({ path, repository, context });
    const inner = await submodulesOf(repository, context);
    found.push(...inner.map((each) => ({ ...each, path: join(path, each.path) })));
  }
  return found;
}
