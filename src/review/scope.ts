import { TrunklineError } from "../base/errors.ts";
import type { Project } from "../tool/tool.ts";
import { findRepository, type FoundRepository } from "./repository.ts";

/** Which threads a call is about. */
export interface Scope {
  /** Git folders of the repositories, or folders of projects without git; undefined means all. */
  readonly gitDirs: readonly string[] | undefined;
  /** The caller's work tree, if it is in one. */
  readonly here: FoundRepository | undefined;
}

/**
 * The scope of a project. A caller that was only started in a folder without a repository means all
 * projects; one that names such a folder as a root means that folder.
 */
export function scopeOf(project: Project | undefined): Scope {
  const { folders = [], source } = project ?? {};
  const gitDirs = new Set<string>();
  const found: FoundRepository[] = [];
  for (const folder of folders) {
    const repository = findRepository(folder);
    if (repository !== undefined) {
      found.push(repository);
      gitDirs.add(repository.gitDir);
    } else if (source === "argument") throw notIn(folder);
    else if (source === "roots") gitDirs.add(folder);
  }
  return {
    gitDirs: gitDirs.size === 0 ? undefined : [...gitDirs],
    here: found.length === 1 ? found[0] : undefined,
  };
}

/** The same for claiming threads, which never covers all projects. */
export function narrowScopeOf(project: Project | undefined): Scope & { readonly gitDir: string } {
  const { folder = "" } = project ?? {};
  const scope = scopeOf(project);
  const [gitDir] = scope.gitDirs ?? [];
  if (gitDir === undefined) throw notIn(folder);
  return { ...scope, gitDir };
}

function notIn(folder: string): TrunklineError {
  const why = "it is not in a git repository. Give the folder of one as 'repository'";
  return new TrunklineError("not-found", `Cannot use reviews in '${folder}': ${why}.`);
}
