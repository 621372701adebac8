import { chmod, mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import type { CachedRepository } from "../repository-cache.ts";

/** The initial content of a git folder. */
export interface GitFolderFacts {
  readonly repository: CachedRepository;
  readonly revision: string;
  readonly branch: string;
  readonly shallow: string;
  readonly keep: readonly string[];
}

/** Creates a git folder with an alternate for its objects. It uses no git: `git init` takes longer. */
export async function writeGitFolder(gitDir: string, facts: GitFolderFacts): Promise<void> {
  const { repository, revision, branch, shallow, keep } = facts;
  const ref = `refs/heads/${branch}`;
  await mkdir(join(gitDir, "objects/info"), { recursive: true, mode: 0o755 });
  await mkdir(join(gitDir, ref, ".."), { recursive: true, mode: 0o755 });
  await Promise.all([
    writeFile(join(gitDir, "HEAD"), `ref: ${ref}\n`),
    writeFile(join(gitDir, ref), `${revision}\n`),
    writeFile(join(gitDir, "config"), "[core]\n\trepositoryformatversion = 0\n\tbare = false\n"),
    writeFile(join(gitDir, "objects/info/alternates"), `${repository.objects}\n`),
    ...(keep.length === 0 ? [] : [writeExclude(gitDir, keep)]),
    ...(shallow === "" ? [] : [writeFile(join(gitDir, "shallow"), shallow)]),
  ]);
  await chmod(gitDir, 0o755);
}

async function writeExclude(gitDir: string, patterns: readonly string[]): Promise<void> {
  await mkdir(join(gitDir, "info"), { recursive: true, mode: 0o755 });
  await writeFile(join(gitDir, "info/exclude"), patterns.map((each) => `${each}\n`).join(""));
}
