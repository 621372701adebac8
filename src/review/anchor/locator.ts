import type { Anchor } from "../../store/schema.gen.ts";
import type { Reviews } from "../../store/review/reviews.ts";
import { Git } from "../../git/git.ts";
import { findRepository, headCommit } from "../repository.ts";
import { attempt } from "../../base/attempt.ts";
import { fileInCommit, worktreeContent } from "./anchor.ts";
import { type HistoryChange, FileHistory } from "./file-history.ts";
import { blobId, FileText } from "./file-text.ts";
import { findQuote, GONE, LineMatcher, type LinePosition, type Method } from "./line-position.ts";
import { nameLikeness, type OtherFile, OtherFiles } from "./other-files.ts";

/** Commented lines in the current work tree. */
export interface LocatedLines extends LinePosition {
  /** Relative to the root; differs from the anchor's path if the file was renamed. */
  readonly path: string;
}

interface FileVersion {
  readonly blob: string;
  readonly text: FileText;
}

/** Lines of a version of a file, on the way from the comment to the work tree. */
interface TrackedPlace {
  readonly path: string;
  readonly version: FileVersion;
  /** They count from 0; undefined for the file as a whole. */
  readonly lines: { readonly first: number; readonly last: number } | undefined;
  readonly method: Method;
  /** The file is the same one, whatever its name. */
  readonly isSameFile: boolean;
  readonly isDoubtful: boolean;
}

/** Bytes of all versions of all files that are compared. Beyond that, only the first and the last. */
const MOST_BYTES = 128 * 1024 * 1024;
/** Bytes of a text that is compared line by line: millions of empty lines take hundreds of megabytes. */
const LARGEST_COMPARED = 8 * 1024 * 1024;
/** Bytes of a file that lines may have been moved to. */
const LARGEST_OTHER = 1024 * 1024;
/** The most files that are searched for the lines that one has lost. */
const MOST_OTHERS = 100;
/** How often lines are followed to another file. */
const MOST_MOVES = 32;
/** Of a file with more versions since the comment, this many are compared, evenly distributed. */
const MOST_VERSIONS = 100;

/** Finds the lines of many comments in one work tree. Each file is read and compared once. */
export class Locator {
  readonly #root: string;
  readonly #git: Git;
  readonly #reviews: Pick<Reviews, "text">;
  readonly #unsaved: ReadonlyMap<string, Uint8Array>;
  readonly #history: FileHistory;
  readonly #head: string | undefined;
  readonly #present = new Map<string, FileVersion | undefined>();
  readonly #before = new Map<string, Promise<FileText | undefined>>();
  readonly #steps = new Map<string, LineMatcher>();
  readonly #others = new Map<string, Promise<OtherFiles>>();
  readonly #sinceCommit = new Map<string, Promise<readonly HistoryChange[]>>();
  #untracked: Promise<readonly HistoryChange[]> | undefined;
  #bytesLeft = MOST_BYTES;

  /** `unsaved` has the texts of files that are not on disk yet, by their paths. */
  constructor(
    root: string,
    reviews: Pick<Reviews, "text">,
    unsaved: ReadonlyMap<string, Uint8Array> = new Map(),
  ) {
    this.#root = root;
    this.#git = new Git(root);
    this.#reviews = reviews;
    this.#unsaved = unsaved;
    this.#history = new FileHistory(root);
    const repository = findRepository(root);
    this.#head = repository && headCommit(repository);
  }

  async locate(anchor: Anchor): Promise<LocatedLines> {
    const { path, side, blob, line, end = line } = anchor;
    const here = side === "old" ? undefined : this.#presentAt(path);
    // The old side is in a commit, which does not change.
    if (side === "old" || (here !== undefined && here.blob === blob)) {
      const made = { path, confidence: "exact", method: "diff" } as const;
      return line === undefined || end === undefined ? made : { ...made, line, end };
    }
    const before = await this.#textOf(anchor);
    if (here !== undefined) {
      if (line === undefined || end === undefined) {
        return { path, confidence: "exact", method: "diff" };
      }
      if (before === undefined || blob === undefined || !isCompared(here)) {
        return { path, ...withoutText(anchor, here) };
      }
      const direct = this.#step({ blob, text: before }, here).find(line - 1, end - 1);
      if (direct.confidence === "exact") return { path, ...direct };
    }
    if (before === undefined || blob === undefined) return { ...GONE, path };
    const lines =
      line === undefined || end === undefined ? undefined : { first: line - 1, last: end - 1 };
    const start: TrackedPlace = {
      ...{ path, version: { blob, text: before }, lines },
      ...{ method: "diff", isSameFile: true, isDoubtful: false },
    };
    const { place, lostIn } = await this.#follow(start, anchor.commit);
    const found = place ?? (await this.#afterAll(start, anchor.commit, lostIn));
    if (found !== undefined) return this.#located(start, found);
    const isThere = lostIn !== undefined && this.#presentAt(lostIn) !== undefined;
    return { ...GONE, path: isThere ? lostIn : path };
  }

  #located(start: TrackedPlace, { path, version, lines, ...how }: TrackedPlace): LocatedLines {
    const { method, isSameFile, isDoubtful } = how;
    if (lines === undefined || start.lines === undefined) {
      const isSame = version.blob === start.version.blob;
      return { path, confidence: isSame ? "exact" : isDoubtful ? "low" : "high", method };
    }
    const place = { path, line: lines.first + 1, end: lines.last + 1, method };
    if (isSameFile && path !== start.path) {
      const direct = this.#step(start.version, version).find(start.lines.first, start.lines.last);
      if (direct.confidence === "exact") return { path, ...direct };
    }
    return { ...place, confidence: isDoubtful ? "low" : "high" };
  }

  /**
   * Follows lines through the commits since one to the work tree, also to other files. If they are lost
   * on the way, says in which file.
   */
  async #follow(start: TrackedPlace, commit: string | undefined) {
    const isSince = commit !== undefined && commit !== this.#head;
    const since = isSince ? await this.#history.since(commit, start.path) : undefined;
    let [place, age, changes] = [start, since?.age ?? 0, since?.changes ?? []];
    for (let moves = 0; moves < MOST_MOVES; moves++) {
      let lostAt: number | undefined;
      for (const version of await this.#versions(place, changes)) {
        const next = version.version && this.#advance(place, version.version);
        if (next === undefined) {
          lostAt = version.age;
          break;
        }
        [place, age] = [next, version.age];
      }
      if (lostAt === undefined) return { place };
      const changed = await this.#changedIn(age, lostAt);
      const found = await this.#elsewhere(place, changed, `${age} ${lostAt}`);
      // If the commit is not in the history, only its text is known.
      if (found === undefined) return isSince && since === undefined ? {} : { lostIn: place.path };
      if (lostAt < 0) return { place: found };
      [place, age] = [found, lostAt];
      const { path } = found;
      const later = await this.#history.all();
      changes = later.filter((change) => change.path === path && change.age < age);
    }
    return {};
  }

  /**
   * Compares the first text with all that has changed since: the commit may have been rebased away, or
   * its lines may have been in another file before they were removed from theirs.
   */
  async #afterAll(
    start: TrackedPlace,
    commit = "",
    lostIn = "",
  ): Promise<TrackedPlace | undefined> {
    const changed = this.#sinceCommit.getOrInsertComputed(commit, () => this.#sinceOrAll(commit));
    const others = (await changed).filter(({ path }) => path !== lostIn);
    return this.#elsewhere(start, others, `since ${commit} ${lostIn}`);
  }

  async #sinceOrAll(commit: string): Promise<readonly HistoryChange[]> {
    const since = commit === "" ? undefined : await this.#history.untilNow(commit);
    return since === undefined
      ? this.#listed("--cached", "--others")
      : [...since, ...(await this.#new())];
  }

  /** The versions of a file, oldest first; at last that of the work tree. */
  async #versions({ path }: TrackedPlace, changes: readonly HistoryChange[]) {
    const step = Math.ceil(changes.length / MOST_VERSIONS);
    // The last one always stays.
    const some = changes.filter((_, at) => (changes.length - 1 - at) % step === 0);
    const read = await Promise.all(
      some.map(async ({ age, blob }) => {
        const text = blob === undefined ? undefined : await this.#history.text(blob);
        return { age, blob, version: blob && text ? { blob, text } : undefined };
      }),
    );
    // A version that cannot be read is passed over.
    const known = read.filter(({ blob, version: text }) => blob === undefined || text);
    const present = this.#presentAt(path);
    const now = present !== undefined && isCompared(present) ? present : undefined;
    return [...(this.#bytesLeft < 0 ? [] : known), { age: -1, version: now }];
  }

  #advance(place: TrackedPlace, version: FileVersion): TrackedPlace | undefined {
    const { lines } = place;
    if (lines === undefined || place.version.blob === version.blob) return { ...place, version };
    const found = this.#step(place.version, version).find(lines.first, lines.last);
    return found.line === undefined ? undefined : moved(place, found, version);
  }

  async #elsewhere(
    place: TrackedPlace,
    changed: readonly HistoryChange[],
    when: string,
  ): Promise<TrackedPlace | undefined> {
    const { path, version, lines } = place;
    const key = [path, version.blob, when].join("\0");
    const others = await this.#others.getOrInsertComputed(key, async () => {
      const { blob, text } = version;
      return new OtherFiles(path, blob, text, await this.#candidates(place, changed));
    });
    const found = lines === undefined ? others.whole : others.find(lines.first, lines.last);
    if (found === undefined) return undefined;
    const { file, isRenamed } = found;
    const isSameFile = place.isSameFile && isRenamed;
    return { ...moved(place, found, file), path: file.path, isSameFile };
  }

  /** The changed files that may have got the lines of another, with their texts. */
  async #candidates(
    { path, version }: TrackedPlace,
    changed: readonly HistoryChange[],
  ): Promise<readonly OtherFile[]> {
    const others = changed.filter((change) => change.path !== path);
    const isSame = ({ blob }: HistoryChange): boolean => blob === version.blob;
    const likely = others
      .toSorted(
        (one, other) =>
          Number(isSame(other)) - Number(isSame(one)) ||
          nameLikeness(path, other.path) - nameLikeness(path, one.path),
      )
      .slice(0, MOST_OTHERS);
    const files = await Promise.all(
      likely.map(async ({ age, path: other, before, blob }) => {
        const text = blob && (await this.#history.text(blob));
        const found = age < 0 ? this.#presentAt(other) : text ? { blob, text } : undefined;
        if (found === undefined || found.text.size > LARGEST_OTHER) return [];
        const old = before === undefined ? undefined : await this.#history.text(before);
        return [{ ...found, path: other, before: old }];
      }),
    );
    return files.flat();
  }

  /** The files that were changed after a commit, up to another one or the work tree. */
  async #changedIn(after: number, upTo: number): Promise<readonly HistoryChange[]> {
    const committed = after > 0 ? await this.#history.all() : [];
    const first = new Map<string, HistoryChange>();
    const last = new Map<string, HistoryChange>();
    for (const change of committed) {
      if (change.age >= after || change.age < upTo) continue;
      first.getOrInsert(change.path, change);
      last.set(change.path, upTo < 0 ? { ...change, age: -1 } : change);
    }
    if (upTo < 0) {
      const here = this.#head === undefined ? [] : await this.#history.untilNow("HEAD");
      for (const change of [...(here ?? []), ...(await this.#new())]) last.set(change.path, change);
    }
    return [...last.values()].map((change) => {
      return { ...change, before: (first.get(change.path) ?? change).before };
    });
  }

  #new(): Promise<readonly HistoryChange[]> {
    return (this.#untracked ??= this.#listed("--others"));
  }

  async #listed(...which: readonly string[]): Promise<readonly HistoryChange[]> {
    const args = ["ls-files", ...which, "--exclude-standard", "-z"];
    const { stdout } = await this.#git.run(args, { accepts: [0, 128] });
    const paths = stdout.toString("utf8").split("\0").filter(Boolean);
    return paths.map((path) => ({ age: -1, path, before: undefined, blob: undefined }));
  }

  /** Comments on one file, and on its later versions, share most steps. */
  #step(before: FileVersion, now: FileVersion): LineMatcher {
    return this.#steps.getOrInsertComputed(`${before.blob} ${now.blob}`, () => {
      this.#bytesLeft -= now.text.size;
      return new LineMatcher(before.text, now.text);
    });
  }

  #presentAt(path: string): FileVersion | undefined {
    return this.#present.getOrInsertComputed(path, () => {
      const root = this.#root;
      // One file that cannot be read must not affect other comments.
      const content = this.#unsaved.get(path) ?? attempt(() => worktreeContent({ root }, path));
      return content && { blob: blobId(content), text: new FileText(content) };
    });
  }

  /** The text that was commented on; a large one is not stored. */
  async #textOf({ path, blob, commit }: Anchor): Promise<FileText | undefined> {
    if (blob === undefined) return undefined;
    return this.#before.getOrInsertComputed(blob, async () => {
      const content =
        (await this.#reviews.text(blob)) ??
        (commit && (await fileInCommit(this.#root, commit, path)));
      return content ? new FileText(content) : undefined;
    });
  }
}

/** The place in another version, as sure as the least sure step to it. */
function moved(
  place: TrackedPlace,
  found: LinePosition,
  { blob, text }: FileVersion,
): TrackedPlace {
  const { line, end = line, confidence, method } = found;
  const isEdited = method === "fuzzy" || place.method === "fuzzy";
  return {
    ...place,
    version: { blob, text },
    lines: line === undefined || end === undefined ? undefined : { first: line - 1, last: end - 1 },
    method: isEdited ? "fuzzy" : method === "diff" ? place.method : method,
    isDoubtful: place.isDoubtful || confidence === "low",
  };
}

/** An imported comment may have only a line number. */
function withoutText(anchor: Anchor, here: FileVersion): LinePosition {
  const { quote, line = 1, end = line } = anchor;
  if (quote !== undefined) return findQuote(anchor, here.text.lines);
  return end > here.text.lines.length ? GONE : { line, end, confidence: "low", method: "none" };
}

function isCompared({ text }: FileVersion): boolean {
  return text.size <= LARGEST_COMPARED;
}
