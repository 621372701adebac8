import { createHash } from "node:crypto";

import { glob } from "../../base/text/glob.ts";
import type { CachedRepository } from "../repository-cache.ts";
import type { Recipe } from "./recipe.ts";

/** The files of a revision: the hash of each by its path. */
export type RevisionFiles = ReadonlyMap<string, string>;

/** Files that say which versions of packages and programs a repository needs. */
const LOCK_FILES = [
  ...["package-lock.json", "npm-shrinkwrap.json", "pnpm-lock.yaml", "yarn.lock"],
  ...["bun.lock", "bun.lockb", "deno.lock"],
  ...["Cargo.lock", "go.sum", "Gemfile.lock", "composer.lock", "mix.lock", "pubspec.lock"],
  ...["requirements*.txt", "poetry.lock", "uv.lock", "Pipfile.lock", "pdm.lock", "conda-lock.yml"],
  ...["packages.lock.json", "gradle.lockfile", "Package.resolved", "flake.lock"],
  ...[".nvmrc", ".node-version", ".python-version", ".ruby-version", ".tool-versions"],
  ...["rust-toolchain", "rust-toolchain.toml"],
];

export async function filesOf(
  repository: CachedRepository,
  revision: string,
): Promise<RevisionFiles> {
  const { stdout } = await repository.git.run(["ls-tree", "-r", "-z", revision]);
  const entries = stdout
    .toString("utf8")
    .split("\0")
    .flatMap((line): [string, string][] => {
      const tab = line.indexOf("\t");
      return tab < 0 ? [] : [[line.slice(tab + 1), line.slice(0, tab)]];
    });
  return new Map(entries);
}

/**
 * The cache key of a result of set-up: a hash of the commands, of the files that they depend on, and of
 * the ignore files, which decide what a result contains. `machine` identifies the system.
 */
export function layerKey(recipe: Recipe, files: RevisionFiles, machine: string): string {
  const { steps, env, secrets, keep } = recipe;
  const isKey = keyFiles(recipe, files);
  const relevant = [...files].filter(([path]) => isKey(path));
  const facts = { steps, env, secrets, keep, machine, relevant };
  return createHash("sha256").update(JSON.stringify(facts)).digest("hex").slice(0, 32);
}

function keyFiles({ keys, steps }: Recipe, files: RevisionFiles): (path: string) => boolean {
  const wanted = keys ?? LOCK_FILES;
  // A repository may have thousands of files, and most keys are plain names: a set finds those quickly.
  const names = new Set([".gitignore", ...wanted.filter((key) => !/[*/]/.test(key))]);
  const patterns = wanted
    .filter((key) => /[*/]/.test(key))
    .map((key) => ({ fits: glob(key), isPath: key.includes("/") }));
  // Scripts of the repository that the commands mention.
  const words = steps.flatMap(({ commands }) => commands.flat().flatMap(wordsOf));
  const named = new Set(words.filter((word) => files.has(word)));
  return (path) => {
    const name = nameOf(path);
    if (names.has(name) || named.has(path)) return true;
    return patterns.some(({ fits, isPath }) => fits(isPath ? path : name));
  };
}

function wordsOf(command: string): string[] {
  return command.split(/[\s'"`;&|()<>=]+/).map((word) => word.replace(/^\.\//, ""));
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}
