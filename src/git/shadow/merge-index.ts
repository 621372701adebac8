import { isRepositoryPath } from "../../base/file/repository-path.ts";
import { GITLINK, type IndexEntry } from "../index-entries.ts";

type Entries = ReadonlyMap<string, IndexEntry>;

export interface MergedIndex {
  readonly entries: Map<string, IndexEntry>;
  /** Whether it differs from the current one. */
  readonly isChanged: boolean;
  /** Paths that are as they were, each with the reason. */
  readonly refused: ReadonlyMap<string, string>;
}

const STAGES = [0, 1, 2, 3];
const NO_STAT = Buffer.alloc(40);
const LINK = 0o120_000;

/** The entries of an index that differ from those before. */
export function changedPaths(base: Entries, after: Entries): string[] {
  const isSame = (key: string): boolean => identityOf(base.get(key)) === identityOf(after.get(key));
  const keys = [...after.keys(), ...base.keys()].filter((key) => !isSame(key));
  return [...new Set(keys.map((key) => key.slice(0, -2)))];
}

/**
 * Brings what a command changed in its index into the current one, which a person may have changed
 * meanwhile. Times of files are not taken from a command: git has to read what changed once more.
 */
export function mergeIndex(current: Entries, base: Entries, after: Entries): MergedIndex {
  const entries = new Map(current);
  const refused = new Map<string, string>();
  const isSparse = base.values().some(({ isSkipped }) => isSkipped);
  let isMerged = false;
  for (const path of changedPaths(base, after)) {
    const wanted = groupOf(after, path);
    if (sameGroup(groupOf(current, path), wanted)) continue;
    const why = problemOf(path, wanted, groupOf(base, path), groupOf(current, path));
    if (why !== undefined) {
      refused.set(Buffer.from(path, "latin1").toString("utf8"), why);
      continue;
    }
    isMerged = true;
    for (const stage of STAGES) entries.delete(`${path}\0${stage}`);
    for (const entry of wanted) {
      const isSkipped = isSparse && entry.isSkipped;
      const plain = { ...entry, stat: NO_STAT, isAssumedValid: false, isSkipped };
      entries.set(`${path}\0${entry.stage}`, plain);
    }
  }
  return { entries, isChanged: isMerged, refused };
}

function problemOf(
  path: string,
  wanted: readonly IndexEntry[],
  before: readonly IndexEntry[],
  current: readonly IndexEntry[],
): string | undefined {
  const text = Buffer.from(path, "latin1").toString("utf8");
  if (!isRepositoryPath(text)) return "git could take it for its own folder, or it leads out";
  if (/^\.git(?:modules|attributes|ignore)$/i.test(text) && wanted.some(isLink))
    return "it is a link";
  if (wanted.some(isGitlink) && !before.some(isGitlink)) return NEW_GITLINK;
  return sameGroup(current, before) ? undefined : "somebody else has staged it meanwhile";
}

export const NEW_GITLINK = "it would be a new submodule, into which your own git would go";

function isGitlink({ mode }: IndexEntry): boolean {
  return mode === GITLINK;
}

function isLink({ mode }: IndexEntry): boolean {
  return mode === LINK;
}

function groupOf(entries: Entries, path: string): IndexEntry[] {
  return STAGES.flatMap((stage) => entries.get(`${path}\0${stage}`) ?? []);
}

function sameGroup(one: readonly IndexEntry[], other: readonly IndexEntry[]): boolean {
  return (
    one.length === other.length &&
    one.every((each, at) => identityOf(each) === identityOf(other[at]))
  );
}

function identityOf(entry: IndexEntry | undefined): string {
  if (entry === undefined) return "";
  return `${entry.stage} ${entry.mode} ${entry.id} ${entry.isIntended} ${entry.isSkipped}`;
}
