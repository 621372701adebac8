import { existsSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { isDeepStrictEqual } from "node:util";

import { TrunklineError } from "../../base/errors.ts";
import { homeOf } from "../../base/process/environment.ts";
import { parseRemoteUrl, throughSshHost } from "../../base/remote-url.ts";
import { maskText } from "../../base/text/mask.ts";
import { type ConfigEdit, editConfig, readValues } from "../../git/config/edit-config.ts";
import {
  canonicalKey,
  configBoolean,
  type ConfigEntry,
  type ConfigScope,
  isStronger,
} from "../../git/config/git-config.ts";
import type { Git } from "../../git/git.ts";
import { remotesOf } from "../../git/remotes.ts";
import { hasLinkedWorktrees, listSubmodules, openRepository } from "../../git/repository.ts";
import { detectIdentity, type GitContext, type RepositoryContext } from "../detect/detect.ts";
import {
  type GitSetting,
  gitSettings,
  type GitSettingsOptions,
  IDENTITY_KEY,
  OPTIONAL_KEYS,
  SIGNERS_KEY,
  SWITCHED_KEYS,
} from "../git-settings.ts";
import { authorOf, hostFit, type Identity } from "../identity.ts";
import type { ChangePlan } from "./apply.ts";
import { type FileChange, readCurrent } from "../../base/file/file-change.ts";
import type { SettingChange } from "./journal.ts";
import { realPath } from "../../base/file/path.ts";

export interface SwitchOptions extends GitSettingsOptions {
  /** Applies to all repositories of the user. */
  readonly global?: boolean;
  readonly rewriteRemotes?: boolean;
  /** All identities: their SSH hosts are known aliases. */
  readonly identities?: readonly Identity[];
  readonly env: NodeJS.ProcessEnv;
}

const GIT_CONFIG_MODE = 0o666;

/** Plans the changes that make git in a folder use an identity. Changes nothing. */
export async function planSwitch(
  identity: Identity,
  context: GitContext,
  options: SwitchOptions,
): Promise<ChangePlan> {
  const { name, sshKey } = identity;
  const identities = options.identities ?? [identity];
  const edits = new Map<string, ConfigEdit[]>();
  const add = (path: string, more: readonly ConfigEdit[]): void => {
    edits.set(path, [...(edits.get(path) ?? []), ...more]);
  };

  /** Notes for a switch to an identity that the repository does not match: it is made all the same. */
  const unfit = async (): Promise<string[]> => {
    const { candidates, remote } = await detectIdentity(identities, context);
    const [best] = candidates;
    const where = remote === undefined ? "This repository" : `The remote '${remote.name}'`;
    if (best === undefined) {
      if (remote === undefined) return [];
      return [`${where} (${remote.url}) does not match identity '${name}', nor another.`];
    }
    if (candidates.find((each) => each.identity === name)?.weight === best.weight) return [];
    const says = `${where} belongs to identity '${best.identity}', which ${best.says}, not to '${name}'`;
    return [`${says}. The guard would refuse commits and pushes, and git gets no token.`];
  };

  const switchIn = (target: ConfigTarget, place: GitContext): string[] => {
    const own = switchEdits(identity, target, place, options);
    add(target.path, own);
    return overrideNotes(own, target, place, options.env);
  };

  /** Does what git does to turn it on (git's worktree.c, `init_worktree_config`). */
  const turnOnWorktreeConfig = async ({ git, repository }: RepositoryContext): Promise<void> => {
    const common = join(repository.commonDir, "config");
    const { bytes = Buffer.alloc(0) } = await readCurrent(common, GIT_CONFIG_MODE);
    // These two apply only to the main work tree and would be wrong in the others.
    const valuesOf = await readValues(git, bytes);
    const bare = valuesOf("core.bare").at(-1);
    const worktree = valuesOf("core.worktree").at(-1);
    const moved = [
      ...(bare === "true" ? [{ key: "core.bare", values: [bare] }] : []),
      ...(worktree === undefined ? [] : [{ key: "core.worktree", values: [worktree] }]),
    ];
    const removed = moved.map(({ key }) => ({ key, values: [] }));
    add(common, [{ key: "extensions.worktreeConfig", values: ["true"] }, ...removed]);
    if (moved.length > 0) add(join(repository.commonDir, "config.worktree"), moved);
  };

  const plan = async (
    subject: ChangePlan["subject"],
    notes: readonly string[],
  ): Promise<ChangePlan> => {
    const isMissing = sshKey !== undefined && !existsSync(sshKey);
    const missing = isMissing ? [`The SSH key '${sshKey}' does not exist: ssh cannot log in.`] : [];
    const changes = await Promise.all(
      [...edits].map(([path, own]) => changeFile(context.git, path, own)),
    );
    return {
      ...{ kind: "switch", identity: name, subject, notes: [...missing, ...notes] },
      settings: changes.flatMap(({ settings }) => settings),
      files: changes.flatMap(({ file }) => file ?? []),
    };
  };

  if (options.global === true) {
    return await plan({}, switchIn(globalTarget(options.env), context));
  }
  const repository = context.repository ?? (await openRepository(context.git));
  const whole = { ...context, repository };
  const notes = await unfit();
  const target = repositoryTarget(whole);
  const { commonDir, worktree = commonDir } = repository;
  if (target.mustTurnOn) await turnOnWorktreeConfig(whole);
  notes.push(...switchIn(target, whole));
  if (options.rewriteRemotes === true) {
    const rewritten = rewriteRemotes(identity, identities, whole);
    add(join(commonDir, "config"), rewritten.edits);
    notes.push(...rewritten.notes);
  }
  notes.push(...(await submoduleNotes(whole)));
  return await plan({ repository: commonDir, worktree }, notes);
}

async function submoduleNotes({ git, repository }: RepositoryContext): Promise<string[]> {
  const { worktree } = repository;
  const all = worktree === undefined ? [] : await listSubmodules(git, worktree);
  const paths = all.filter(({ isCheckedOut }) => isCheckedOut).map(({ path }) => path);
  return paths.length === 0
    ? []
    : [`Submodules keep their identity: ${paths.join(", ")}. Switch in each that needs another.`];
}

async function changeFile(
  git: Git,
  path: string,
  edits: readonly ConfigEdit[],
): Promise<{ readonly file: FileChange | undefined; readonly settings: SettingChange[] }> {
  const now = await readCurrent(path, GIT_CONFIG_MODE);
  const bytes = now.bytes ?? Buffer.alloc(0);
  const after = await editConfig(git, bytes, edits);
  if (after.equals(bytes)) return { file: undefined, settings: [] };
  const file = { path: now.path, before: now.bytes, after, mode: now.mode, isGitConfig: true };
  const keys = new Map(edits.map(({ key }) => [canonicalKey(key), key]));
  const [oldValues, newValues] = [await readValues(git, bytes), await readValues(git, after)];
  const settings = [...keys.values()].flatMap((key) => {
    const [old, fresh] = [oldValues(key), newValues(key)];
    if (isDeepStrictEqual(old, fresh)) return [];
    return [{ file: now.path, key, before: old.map(maskText), after: fresh.map(maskText) }];
  });
  return { file, settings };
}

/** The edits of a switch in its target file. */
function switchEdits(
  identity: Identity,
  target: ConfigTarget,
  context: GitContext,
  options: GitSettingsOptions,
): ConfigEdit[] {
  const settings = gitSettings(identity, options);
  const named = new Set(settings.map(({ key }) => canonicalKey(key)));
  const ours = new Set(
    inTarget(SWITCHED_KEYS, target, context).map(({ value }) => canonicalKey(value ?? "")),
  );
  const isKept = (key: string): boolean => {
    return options.keepSigning === true && /^(?:user\.signingKey|gpg\.|commit\.|tag\.)/.test(key);
  };
  const own = settings.flatMap((setting) => settingEdit(setting, target, context, ours));
  const former = OPTIONAL_KEYS.filter((key) => {
    return ours.has(canonicalKey(key)) && !named.has(canonicalKey(key));
  });
  const sets = OPTIONAL_KEYS.filter((key) => {
    const isSet = own.some((edit) => edit.key === key && edit.values.length > 0);
    return isSet || (former.includes(key) && isKept(key));
  });
  const edits = [
    ...own,
    ...former.filter((key) => !isKept(key)).map((key) => ({ key, values: [] })),
    ...authorEdits(identity, context),
    { key: SWITCHED_KEYS, values: sets },
  ];
  return edits.map((edit) => {
    const isIncluded = context.config.all(edit.key).some((entry) => {
      return entry.scope === target.scope && !isFrom(entry, target, context);
    });
    return isIncluded && edit.values.length > 0 ? { ...edit, atEnd: true } : edit;
  });
}

function settingEdit(
  { key, values }: GitSetting,
  target: ConfigTarget,
  context: GitContext,
  ours: ReadonlySet<string>,
): ConfigEdit[] {
  // The person's own list of signers stays.
  if (key === SIGNERS_KEY && (context.config.get(key) ?? values[0]) !== values[0]) return [];
  const mustNotSign = /^(?:commit|tag)\.gpgSign$/.test(key) && values[0] === "false";
  if (!mustNotSign) return [{ key, values }];
  // `false` is only needed if another file turns signing on.
  const others = context.config.all(key).filter((entry) => !isFrom(entry, target, context));
  const last = others.at(-1);
  if (last !== undefined && configBoolean(last.value) === true) return [{ key, values }];
  const own = inTarget(key, target, context).at(-1);
  if (own === undefined) return [];
  if (ours.has(canonicalKey(key))) return [{ key, values: [] }];
  return configBoolean(own.value) === true ? [{ key, values }] : [];
}

/** `author.email` and the like override `user.email`; they are rarely set. */
function authorEdits(identity: Identity, { config }: GitContext): ConfigEdit[] {
  const { name, email } = authorOf(identity);
  const wanted = { name, email };
  return (["author", "committer"] as const).flatMap((who) =>
    (["name", "email"] as const).flatMap((what) => {
      const key = `${who}.${what}`;
      const now = config.get(key);
      return now === undefined || now === wanted[what] ? [] : [{ key, values: [wanted[what]] }];
    }),
  );
}

function inTarget(key: string, target: ConfigTarget, context: GitContext) {
  return context.config.all(key).filter((entry) => isFrom(entry, target, context));
}

const VARIABLES: Readonly<Record<string, readonly string[]>> = {
  "user.name": ["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"],
  "user.email": ["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"],
  "core.sshCommand": ["GIT_SSH_COMMAND"],
};

/** Notes on variables and stronger files that override the edits. */
function overrideNotes(
  edits: readonly ConfigEdit[],
  target: ConfigTarget,
  { config }: GitContext,
  env: NodeJS.ProcessEnv,
): string[] {
  return edits.flatMap(({ key, values }) => {
    const wanted = values.at(-1);
    if (wanted === undefined || key === IDENTITY_KEY || key === SWITCHED_KEYS) return [];
    const notes = (VARIABLES[key] ?? []).flatMap((variable) => {
      const value = env[variable];
      if (value === undefined || value === "" || value === wanted) return [];
      return [`The variable ${variable} overrides ${key} with another value.`];
    });
    const last = config.last(key);
    if (last !== undefined && isStronger(last.scope, target.scope) && last.value !== wanted) {
      const where = last.origin.replace(/^file:/, "");
      notes.push(
        `${key} is also set in the ${last.scope} configuration (${where}), which overrides it.`,
      );
    }
    return notes;
  });
}

/**
 * Rewrites the remotes on an identity's host to use its SSH host, keeping form and port. Remotes on
 * other hosts stay.
 */
function rewriteRemotes(
  identity: Identity,
  identities: readonly Identity[],
  context: RepositoryContext,
): { readonly edits: readonly ConfigEdit[]; readonly notes: readonly string[] } {
  const { name, host, sshHost } = identity;
  if (sshHost === undefined) {
    const next = `Set one with \`trunkline identity edit ${name} --ssh-host ALIAS\``;
    const says = `Cannot rewrite remotes: identity '${name}' has no SSH host. ${next}`;
    throw new TrunklineError("config", says);
  }
  const file = { path: join(context.repository.commonDir, "config"), scope: "local" } as const;
  const notes: string[] = [];
  // SSH aliases of other identities for the same host count as this host.
  const aliases = new Set(aliasesOf(identities, host));
  const effectives = new Map(
    remotesOf(context.config).flatMap(({ fetch, push }) => {
      return [...push, ...fetch].map(({ raw, effective }) => [raw, effective] as const);
    }),
  );
  const rewritten = (raw: string): string => {
    const effective = effectives.get(raw) ?? raw;
    const url = parseRemoteUrl(effective);
    const isIts = hostFit(host, url) === "exact" || aliases.has(url.host ?? "");
    if (!isIts) return raw;
    return throughSshHost(effective, sshHost) ?? raw;
  };
  const edits = context.remotes.flatMap((remote) =>
    ["url", "pushurl"].flatMap((what) => {
      const key = `remote.${remote.name}.${what}`;
      const entries = context.config.all(key);
      const own = entries.filter((entry) => isFrom(entry, file, context));
      if (own.length < entries.length) {
        notes.push(`${key} is set outside this repository's configuration and was not changed.`);
      }
      const before = own.map(({ value }) => value ?? "");
      const values = before.map(rewritten);
      return values.every((value, at) => value === before[at]) ? [] : [{ key, values }];
    }),
  );
  return { edits, notes };
}

function aliasesOf(identities: readonly Identity[], host: string | undefined): string[] {
  return identities.flatMap((each) => {
    return each.host === host && each.sshHost !== undefined ? [each.sshHost] : [];
  });
}

/** The file that a switch writes to. */
interface ConfigTarget {
  readonly scope: Extract<ConfigScope, "global" | "local" | "worktree">;
  readonly path: string;
  /** extensions.worktreeConfig has to be turned on first. */
  readonly mustTurnOn: boolean;
}

/** The file of this work tree if the repository has several, else the repository's file. */
function repositoryTarget({ repository, config }: RepositoryContext): ConfigTarget {
  // Git reads this extension only from the repository's own file.
  const all = config.all("extensions.worktreeConfig");
  const own = all.filter(({ scope }) => scope === "local");
  const isOn = own.length > 0 && configBoolean(own.at(-1)?.value) === true;
  if (isOn || hasLinkedWorktrees(repository)) {
    const path = join(repository.gitDir, "config.worktree");
    return { scope: "worktree", path, mustTurnOn: !isOn };
  }
  return { scope: "local", path: join(repository.commonDir, "config"), mustTurnOn: false };
}

/** The file that `git config --global` writes to. */
export function globalTarget(env: NodeJS.ProcessEnv): ConfigTarget {
  const { XDG_CONFIG_HOME, GIT_CONFIG_GLOBAL } = env;
  const home = homeOf(env);
  const own = join(home, ".gitconfig");
  const folder = XDG_CONFIG_HOME === undefined || !isAbsolute(XDG_CONFIG_HOME);
  const xdg = join(folder ? join(home, ".config") : XDG_CONFIG_HOME, "git", "config");
  const usual = !existsSync(own) && existsSync(xdg) ? xdg : own;
  const named = GIT_CONFIG_GLOBAL === undefined || GIT_CONFIG_GLOBAL === "";
  return { scope: "global", path: named ? usual : GIT_CONFIG_GLOBAL, mustTurnOn: false };
}

/** Whether a value is in the file itself, not in an included one. */
function isFrom(
  { origin, scope }: ConfigEntry,
  target: Pick<ConfigTarget, "path" | "scope">,
  context: GitContext,
): boolean {
  if (scope !== target.scope || !origin.startsWith("file:")) return false;
  const { repository, git } = context;
  // Git reports paths relative to the top of the work tree.
  const base = repository?.worktree ?? repository?.gitDir ?? git.folder;
  const found = resolve(base, origin.slice("file:".length));
  return found === target.path || realPath(found) === realPath(target.path);
}
