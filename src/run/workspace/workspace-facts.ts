import { existsSync, statSync } from "node:fs";
import { chmod, mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { replaceFile } from "../../store/replace-file.ts";
import type { CachedRepository } from "../repository-cache.ts";
import type { WorkspaceDriver } from "./driver.ts";

/** The initial content of a git folder. */
export interface GitFolderFacts {
  readonly repository: Pick<CachedRepository, "key" | "objects">;
  /** Further folders of objects. */
  readonly alternates?: readonly string[];
  /** Lines of its configuration. */
  readonly config?: string;
  readonly revision: string;
  readonly branch: string;
  readonly shallow: string;
  readonly keep: readonly string[];
}

/** Creates a git folder with an alternate for its objects. It uses no git: `git init` takes longer. */
export async function writeGitFolder(gitDir: string, facts: GitFolderFacts): Promise<void> {
  const { repository, alternates = [], config = "", revision, branch, shallow, keep } = facts;
  const objects = [repository.objects, ...alternates];
  const ref = `refs/heads/${branch}`;
  await mkdir(join(gitDir, "objects/info"), { recursive: true, mode: 0o755 });
  await mkdir(join(gitDir, ref, ".."), { recursive: true, mode: 0o755 });
  await Promise.all([
    writeFile(join(gitDir, "HEAD"), `ref: ${ref}\n`),
    writeFile(join(gitDir, ref), `${revision}\n`),
    writeFile(join(gitDir, "config"), CONFIG + config),
    writeFile(join(gitDir, "objects/info/alternates"), objects.map((each) => `${each}\n`).join("")),
    ...(keep.length === 0 ? [] : [writeExclude(gitDir, keep)]),
    ...(shallow === "" ? [] : [writeFile(join(gitDir, "shallow"), shallow)]),
  ]);
  await chmod(gitDir, 0o755);
}

const CONFIG = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n";

async function writeExclude(gitDir: string, patterns: readonly string[]): Promise<void> {
  await mkdir(join(gitDir, "info"), { recursive: true, mode: 0o755 });
  await writeFile(join(gitDir, "info/exclude"), patterns.map((each) => `${each}\n`).join(""));
}

/** What is stored about a workspace beside its files. */
export interface WorkspaceFacts {
  readonly base: string;
  readonly repository: string;
  readonly driver: WorkspaceDriver["name"];
  readonly layer?: string | undefined;
  /** The tree is not on disk: its files are in a commit of the git folder. */
  readonly isAway?: boolean;
}

export const FACTS = "workspace.json";

export async function readFacts(folder: string): Promise<WorkspaceFacts | undefined> {
  const path = join(folder, FACTS);
  return existsSync(path)
    ? (JSON.parse(await readFile(path, "utf8")) as WorkspaceFacts)
    : undefined;
}

/** Milliseconds for which a workspace may be without facts while another process begins it. */
const BEGINS_WITHIN = 10 * 60_000;

/** Whether a workspace was left before it had begun: it has nothing that anybody worked on. */
export function isUnbegun(folder: string): boolean {
  const begun = statSync(folder, { throwIfNoEntry: false })?.mtimeMs ?? Date.now();
  return !existsSync(join(folder, FACTS)) && Date.now() - begun > BEGINS_WITHIN;
}

export async function writeFacts(folder: string, facts: WorkspaceFacts): Promise<void> {
  await replaceFile(join(folder, FACTS), JSON.stringify(facts));
}
