import { mkdtempDisposable, readdir, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { editConfig } from "../../git/config/edit-config.ts";
import type { Git } from "../../git/git.ts";
import { GitConfig } from "../../git/config/git-config.ts";
import {
  gitBlockLines,
  includeConditions,
  includedFile,
  needsSshHost,
  sshBlockLines,
} from "./block-lines.ts";
import { globalTarget } from "./config-target.ts";
import {
  bytesOf,
  type FileChange,
  type CurrentFile,
  isSame,
  readCurrent,
} from "../../base/file/file-change.ts";
import { gitSettings } from "../git-settings.ts";
import { splitHost } from "../host.ts";
import type { Identity } from "../identity.ts";
import type { SettingChange } from "./journal.ts";
import { blockLines, MANAGED_BLOCK, withBlock, withoutBlock } from "./managed-blocks.ts";
import type { Plan } from "./apply.ts";
import { sshConfigFile, sshOptions } from "../detect/ssh-options.ts";

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
): Promise<Plan> {
  const notes: string[] = [];
  const wanted = options.remove === true ? [] : identities;
  const ssh = await sshChange(wanted, options, notes);
  const includes = await includesOf(wanted, git, options, notes);
  const now = await readCurrent(globalTarget(options.env).path, 0o666);
  const config = blockChange(now, gitBlockLines(includes), "end", true);
  const included = await Promise.all(
    includes.map(async ({ identity, file }) => {
      const now = await readCurrent(file, 0o600);
      return changeOf(now, editConfig(Buffer.alloc(0), gitSettings(identity)), true);
    }),
  );
  const left = await leftOver(includes, options.folder);
  // Several conditions may include the same file; write it once.
  const files = new Map(
    [...included, ssh, config, ...left].flatMap((file) =>
      file === undefined ? [] : [[file.path, file]],
    ),
  );
  const changes = [...files.values()];
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

interface Include {
  readonly identity: Identity;
  readonly condition: string;
  readonly file: string;
}

/** Leaves out conditions that the user's own configuration already has. */
async function includesOf(
  identities: readonly Identity[],
  git: Git,
  { env, folder }: SyncOptions,
  notes: string[],
): Promise<Include[]> {
  const all = identities.flatMap((identity) => {
    const file = includedFile(folder, identity);
    if (identity.email === undefined || identity.displayName === undefined) return [];
    return includeConditions(identity).map((condition) => ({ identity, condition, file }));
  });
  if (all.length === 0) return [];
  const own = await GitConfig.read(git);
  const block = blockLines(await bytesOf(globalTarget(env).path))?.join("\n") ?? "";
  return all.filter(({ condition, file }) => {
    const entries = own.all(`includeif.${condition}.path`);
    const isOurs = entries.every(({ value }) => value === file);
    if (entries.length === 0 || isOurs || block.includes(condition)) return true;
    notes.push(`Your git configuration already has settings for '${condition}'.`);
    return false;
  });
}

/** Files for identities that are no longer included. */
async function leftOver(
  includes: readonly Include[],
  folder: string,
): Promise<(FileChange | undefined)[]> {
  const names = await readdir(folder).catch(() => []);
  const paths = names
    .filter((name) => name.endsWith(".gitconfig"))
    .map((name) => join(folder, name));
  const unused = paths.filter((path) => !includes.some(({ file }) => file === path));
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
  if (isSame(bytes, after)) return undefined;
  return { path, before: bytes, after, mode, isGitConfig };
}

function describe({ path, before, after }: FileChange): SettingChange {
  const lines = (bytes: Buffer | undefined): string[] => blockLines(bytes) ?? [];
  return { file: path, key: MANAGED_BLOCK, before: lines(before), after: lines(after) };
}
