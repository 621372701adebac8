import { nextTurn } from "../../base/event-loop.ts";
import { Git } from "../../git/git.ts";
import { FileText, isBinary } from "./file-text.ts";

/** A comment on an older commit is looked for in the first and the last text only. */
const MOST_COMMITS = 2_000;
/** The most commits outside of the first-parent history: each costs a call of git. */
const MOST_OTHERS = 16;
/** Git looks only at these paths; with more of them, at all. */
const MOST_PATHS = 500;
/** Blobs that are read by one call of git. */
const MOST_BLOBS = 500;
const LARGEST = 1024 * 1024;

/** A file that a commit changed. */
export interface HistoryChange {
  /** Number of commits after it. */
  readonly age: number;
  readonly path: string;
  /** Undefined if the file is new. */
  readonly before: string | undefined;
  /** Undefined if the file was removed, or is not committed. */
  readonly blob: string | undefined;
}

/** The history of files along the first parents, commit by commit. */
export class FileHistory {
  readonly #git: Git;
  readonly #wanted = new Map<string, Set<string>>();
  readonly #texts = new Map<string, Promise<FileText | undefined>>();
  #changes: Promise<ChangeIndex> | undefined;
  #all: Promise<readonly HistoryChange[]> | undefined;
  #blobs: Set<string> | undefined;
  #reading: Promise<Map<string, FileText>> | undefined;

  constructor(root: string) {
    this.#git = new Git(root);
  }

  /**
   * What became of a file in the commits since one, along the first parents: their number, and the changes,
   * oldest first. Undefined if git cannot tell. Requests of one turn of the event loop share the calls of git.
   */
  async since(commit: string, path: string) {
    this.#wanted.getOrInsert(commit, new Set()).add(path);
    this.#changes ??= nextTurn().then(() => {
      this.#changes = undefined;
      const all = new Map(this.#wanted);
      this.#wanted.clear();
      return this.#ask(all).catch(() => NOTHING);
    });
    const { ages, byPath } = await this.#changes;
    const age = ages.get(commit);
    if (age === undefined) return undefined;
    return { age, changes: (byPath.get(path) ?? []).filter((change) => change.age < age) };
  }

  /** The changes of all files, oldest first. */
  all(): Promise<readonly HistoryChange[]> {
    return (this.#all ??= this.#log(MOST_COMMITS, []).catch(() => []));
  }

  /** What differs between a commit and the work tree; undefined if there is no such commit. */
  async untilNow(commit: string): Promise<readonly HistoryChange[] | undefined> {
    const args = ["diff", "--no-renames", "--raw", "-z", "--no-abbrev", "--end-of-options", commit];
    const { code, stdout } = await this.#git.run([...args, "--"], { accepts: [0, 128] });
    return code === 0 ? changesIn(stdout) : undefined;
  }

  /** The text of a blob; undefined if it is too large, binary or cannot be read. */
  text(blob: string): Promise<FileText | undefined> {
    const known = this.#texts.get(blob);
    if (known !== undefined) return known;
    const blobs = (this.#blobs ??= new Set());
    blobs.add(blob);
    this.#reading ??= nextTurn().then(() => {
      [this.#blobs, this.#reading] = [undefined, undefined];
      return this.#read([...blobs]);
    });
    const asked = this.#reading.then((texts) => texts.get(blob));
    this.#texts.set(blob, asked);
    return asked;
  }

  async #ask(wanted: ReadonlyMap<string, ReadonlySet<string>>): Promise<ChangeIndex> {
    const ages = await this.#agesOf([...wanted.keys()]);
    const oldest = Math.max(0, ...ages.values());
    if (oldest === 0) return { ages, byPath: new Map() };
    const paths = [...new Set([...wanted.values()].flatMap((some) => [...some]))];
    const changes = await this.#log(oldest, paths.length > MOST_PATHS ? [] : paths);
    return { ages, byPath: Map.groupBy(changes, ({ path }) => path) };
  }

  async #log(count: number, paths: readonly string[]): Promise<HistoryChange[]> {
    const how = ["--first-parent", "-m", "--no-renames", "--raw", "-z", "--no-abbrev"];
    const range = ["--format=%H", `--max-count=${count}`, "HEAD", "--"];
    // With paths, --max-count would count only the commits that change them.
    const args = ["log", ...how, "--full-history", "--sparse", ...range];
    const only = paths.map((path) => `:(top,literal)${path}`);
    return changesIn((await this.#git.run([...args, ...only])).stdout).toReversed();
  }

  /** The number of commits since each, along the first parents. */
  async #agesOf(commits: readonly string[]): Promise<Map<string, number>> {
    const line = ["rev-list", "--first-parent", `--max-count=${MOST_COMMITS}`, "HEAD", "--"];
    const all = (await this.#git.text(line)).split("\n");
    const ages = new Map<string, number>();
    const known = new Map(all.map((commit, age) => [commit, age]));
    const others: string[] = [];
    for (const commit of commits) {
      const age = known.get(commit);
      if (age === undefined) others.push(commit);
      else ages.set(commit, age);
    }
    // A commit of a branch that was merged, or of another branch.
    for (const commit of others.slice(0, MOST_OTHERS)) {
      const range = ["--end-of-options", `${commit}..HEAD`, "--"];
      const args = ["rev-list", "--first-parent", "--count", ...range];
      const { code, stdout } = await this.#git.run(args, { accepts: [0, 128] });
      const age = Number(stdout.toString("latin1"));
      if (code === 0 && age <= MOST_COMMITS) ages.set(commit, age);
    }
    return ages;
  }

  async #read(blobs: readonly string[]): Promise<Map<string, FileText>> {
    const texts = new Map<string, FileText>();
    for (let at = 0; at < blobs.length; at += MOST_BLOBS) {
      const some = blobs.slice(at, at + MOST_BLOBS);
      const input = some.map((blob) => `${blob}\n`).join("");
      // Together they may be too large; what is not read is not compared.
      const { stdout } = await this.#git
        .run(["cat-file", "--batch"], { input })
        .catch(() => ({ stdout: Buffer.alloc(0) }));
      for (const [blob, content] of blobsIn(stdout)) {
        if (content.length <= LARGEST && !isBinary(content)) texts.set(blob, new FileText(content));
      }
    }
    return texts;
  }
}

interface ChangeIndex {
  readonly ages: ReadonlyMap<string, number>;
  readonly byPath: ReadonlyMap<string, readonly HistoryChange[]>;
}

const NOTHING: ChangeIndex = { ages: new Map(), byPath: new Map() };

/** The output of `git log --raw -z`: commits, each with the files that it changed. */
function changesIn(log: Buffer): HistoryChange[] {
  const changes: HistoryChange[] = [];
  const fields = log.toString("utf8").split("\0");
  let age = -1;
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? "";
    const [, old, now, before, blob] = RAW.exec(field) ?? [];
    if (before !== undefined && blob !== undefined) {
      const path = fields[++at] ?? "";
      if (!isFile(old) && !isFile(now)) continue;
      changes.push({ age, path, before: idOf(old, before), blob: idOf(now, blob) });
    } else if (field !== "") age++;
  }
  return changes;
}

const RAW = /^\n?:(\d+) (\d+) ([0-9a-f]+) ([0-9a-f]+) [A-Z]$/;

/** A submodule is no file. */
function isFile(mode = ""): boolean {
  return mode.startsWith("100") || mode === "120000";
}

/** Git prints zeros for a missing file, and for one that is not hashed. */
function idOf(mode: string | undefined, blob: string): string | undefined {
  return isFile(mode) && !/^0+$/.test(blob) ? blob : undefined;
}

function* blobsIn(batch: Buffer): Generator<[string, Buffer]> {
  for (let from = 0; from < batch.length;) {
    const line = batch.indexOf("\n", from);
    const head = batch.toString("latin1", from, line);
    const [, blob, size] = /^([0-9a-f]+) blob (\d+)$/.exec(head) ?? [];
    if (blob === undefined) {
      from = line + 1;
      continue;
    }
    const to = line + 1 + Number(size);
    yield [blob, batch.subarray(line + 1, to)];
    from = to + 1;
  }
}
