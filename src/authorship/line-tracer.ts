import { FileText, linesOf } from "../review/anchor/file-text.ts";
import { LineMatcher } from "../review/anchor/line-position.ts";
import { type Attestation, parseNote } from "./git-ai-note.ts";
import {
  type BlamedLine,
  type BlameRange,
  isCommitted,
  type StoredStep,
  linesWithout,
  type WorkHistory,
  type WorkStep,
} from "./work-history.ts";

/** The known origin of a line. */
export interface LineSource {
  readonly text: string;
  /** The line and the file, from 1 on, in the step or commit that wrote it. */
  readonly path: string;
  readonly line: number;
  readonly step: WorkStep;
  /** The step's commit in the work history; absent if a note or the person's history names the author. */
  readonly at?: string;
  /** The commit of the person's repository that has the line; absent where it is not committed. */
  readonly commit?: string | undefined;
  /** Whether git found the line exactly as it was written. Reformatted lines are followed, too, but are not certain. */
  readonly certain: boolean;
}

/** The most steps through which a line is followed that was reformatted, removed or restored. */
const MOST_STEPS = 20;
/** The most versions of a file that are searched for a line that came from elsewhere. */
const MOST_VERSIONS = 50;

interface TraceOptions {
  readonly range?: BlameRange;
  readonly commit?: string | undefined;
  readonly now?: string | null;
}

/** Finds who wrote lines: by the history of work, by notes, by the person's own history. */
export class LineTracer {
  readonly #history: WorkHistory;
  readonly #texts = new Map<string, Promise<FileText | undefined>>();
  readonly #matchers = new Map<string, LineMatcher>();
  readonly #blames = new Map<string, Promise<readonly BlamedLine[]>>();
  readonly #noted = new Map<string, readonly Attestation[]>();
  readonly #explained = new Map<string, Promise<boolean>>();
  readonly #versions = new Map<string, Promise<readonly string[]>>();
  #added: ReturnType<WorkHistory["added"]> | undefined;
  /** Whether all lines are traced: then a file is blamed once and as a whole, instead of for each line. */
  #isWhole = false;

  constructor(history: WorkHistory) {
    this.#history = history;
  }

  /**
   * Traces all lines of a file, or some, in the work tree or in a commit. `now` is a step that has the
   * present file, if one exists, and null for a file that no step has changed.
   */
  async trace(path: string, { range, commit, now }: TraceOptions = {}): Promise<LineSource[]> {
    this.#isWhole = range === undefined;
    const step = now === undefined ? await this.#history.now(commit, path) : now;
    if (step === undefined || step === null) {
      const blamed = await this.#history.blameCommit(commit, path, range);
      return await Promise.all(blamed.map((each) => this.#ofCommit(each, true)));
    }
    const blamed = await this.#history.blame(step, path, range);
    return await Promise.all(blamed.map((each) => this.#ofStep(each, true)));
  }

  /** `seen` has the places that were searched already. */
  async #ofStep(
    blamed: BlamedLine,
    isCertain: boolean,
    seen = new Set<string>(),
  ): Promise<LineSource> {
    const { commit: at, path, line, text } = blamed;
    const [step, plain] = await Promise.all([
      this.#history.step(at),
      this.#history.step(blamed.plain ?? at),
    ]);
    // An agent may have only moved or copied the line.
    const certain =
      isCertain && (plain === step || (step.by === "person" && plain.by === "person"));
    const own = { text, path, line, step, at };
    const told = step.told?.[path];
    if (told !== undefined && (await this.#isExplained(at, path, told))) return { ...own, certain };
    if (seen.size > MOST_STEPS) return { ...own, certain: false };
    seen.add(placeOf(blamed));
    const { before, head } = step;
    const was = before === undefined ? undefined : await this.#lineIn(at, before, path, line);
    if (before !== undefined && was !== undefined) {
      const older = await this.#blamed("steps", before, path, was.line);
      if (older !== undefined) return { ...(await this.#ofStep(older, false, seen)), text };
    }
    // A line that no tool call announced came with a commit, came back from elsewhere, or was written by hand.
    const there = head === undefined ? undefined : await this.#lineIn(at, head, path, line);
    if (head !== undefined && there !== undefined) {
      const committed = await this.#blamed("theirs", head, path, there.line);
      if (committed !== undefined && (await this.#isOlder(committed.commit, step))) {
        return await this.#ofCommit(committed, certain && there.isExact, seen);
      }
    }
    const found = await this.#elsewhere(at, blamed, step.until ?? 0, seen);
    if (found !== undefined) return { ...found, certain: found.certain && certain };
    const isPersons = certain && step.by === "person" && step.during !== true;
    return { ...own, certain: isPersons && !(await this.#maybeAgents(text, plain.until ?? 0)) };
  }

  /** A commit that an agent makes during a call has its own lines; an older commit has those of others. */
  async #isOlder(commit: string, { by, since = 0, head, before }: StoredStep): Promise<boolean> {
    const wasThere = before !== undefined && (await this.#history.step(before)).head === head;
    return by === "person" || wasThere || (await this.#history.commit(commit)).at + 1000 <= since;
  }

  /** Whether a file changed only as the call announced, so that nobody else wrote to it meanwhile. */
  #isExplained(at: string, path: string, told: readonly string[]): Promise<boolean> {
    return this.#explained.getOrInsertComputed(`${at}:${path}`, async () => {
      const rows = linesOf(await this.#history.patch(at, path));
      const added = rows.filter((row) => /^\+(?!\+\+ )/.test(row)).map((row) => row.slice(1));
      return linesWithout(added, told).length === 0;
    });
  }

  async #ofCommit(
    blamed: BlamedLine,
    certain: boolean,
    seen = new Set<string>(),
  ): Promise<LineSource> {
    const { commit, path, line, text } = blamed;
    if (!isCommitted(blamed)) {
      const isPersons = certain && !(await this.#maybeAgents(text, Infinity));
      return { text, path, line, step: { by: "person" }, certain: isPersons };
    }
    const own = { text, path, line, commit };
    const { at, session, note } = await this.#history.commit(commit);
    const noted = this.#noted.getOrInsertComputed(commit, () => parseNote(note));
    const { step } = noted.find((each) => each.path === path && each.lines.includes(line)) ?? {};
    // Git's times are whole seconds.
    const until = at + 999;
    const isNew = !seen.has(placeOf(blamed));
    seen.add(placeOf(blamed));
    const found = isNew ? await this.#elsewhere(commit, blamed, until, seen) : undefined;
    // The record says more than a note of our own.
    const isOurs = step === undefined || found?.step.session === step.session;
    if (found?.step.by === "agent" && isOurs) {
      return { ...found, commit, certain: found.certain && certain };
    }
    if (step !== undefined) return { ...own, step, certain };
    const { plain = commit } = blamed;
    const isSeen = found?.certain === true && plain === commit;
    // The message of a commit is untrusted: it can name any session, and has lines of others too.
    if (session !== undefined && !isSeen) {
      return { ...own, step: { by: "agent", session }, certain: false };
    }
    const ranges = this.#history.traces.get(`${commit}:${path}`);
    const traced = ranges?.find(({ from, to }) => line >= from && line <= to);
    if (traced !== undefined && !isSeen) return { ...own, step: traced.step, certain: false };
    // An agent may have indented or moved it since.
    const last = /^0+$/.test(plain) ? Infinity : (await this.#history.commit(plain)).at + 999;
    const isKnown = isSeen || !(await this.#maybeAgents(text, last));
    return { ...own, step: { by: "commit" }, certain: certain && isKnown };
  }

  /** A line that came another way, such as by a stash or a squash at the forge, and was there by then. */
  async #elsewhere(
    version: string,
    { path, line, text }: BlamedLine,
    until: number,
    seen: Set<string>,
  ): Promise<LineSource | undefined> {
    const versions = this.#versions.getOrInsertComputed(path, () => {
      return this.#history.changing(path, MOST_VERSIONS);
    });
    let first: LineSource | undefined;
    for (const other of await versions) {
      if (other === version || ((await this.#history.step(other)).until ?? 0) > until) continue;
      const there = await this.#lineIn(version, other, path, line);
      if (there === undefined) continue;
      const at = await this.#blamed("steps", other, path, there.line);
      if (at === undefined || seen.has(placeOf(at))) continue;
      const found = await this.#ofStep(at, there.isSame, seen);
      if (found.step.by === "agent") return { ...found, text };
      if (first?.certain !== true) first = { ...found, text };
    }
    return first;
  }

  /** Whether an agent wrote these words before: then the line may be the agent's, though it cannot be traced. */
  async #maybeAgents(text: string, until: number): Promise<boolean> {
    const added = (this.#added ??= this.#history
      .added()
      .then((all) => all.map((each) => ({ ...each, text: wordsOf(each.text) }))));
    const words = wordsOf(text);
    return (await added).some((each) => each.since <= until && each.text.includes(words));
  }

  /** The place of a version's line in another version; undefined if it is not obvious. */
  async #lineIn(
    version: string,
    other: string,
    path: string,
    line: number,
  ): Promise<{ line: number; isExact: boolean; isSame: boolean } | undefined> {
    const [here, there] = await Promise.all([this.#text(version, path), this.#text(other, path)]);
    if (here === undefined || there === undefined) return undefined;
    const isSame = here.size === there.size && here.lines.join("\n") === there.lines.join("\n");
    if (isSame) return { line, isExact: true, isSame };
    const key = `${version} ${other} ${path}`;
    const matcher = this.#matchers.getOrInsertComputed(key, () => new LineMatcher(here, there));
    const { confidence, line: found } = matcher.find(line - 1, line - 1);
    if (found === undefined || confidence === "low") return undefined;
    const isExact = confidence === "exact" && here.keys[line - 1] === there.keys[found - 1];
    return { line: found, isExact, isSame };
  }

  async #blamed(
    whose: "steps" | "theirs",
    commit: string,
    path: string,
    line: number,
  ): Promise<BlamedLine | undefined> {
    const ask = (range?: BlameRange): Promise<BlamedLine[]> =>
      whose === "steps"
        ? this.#history.blame(commit, path, range)
        : this.#history.blameCommit(commit, path, range);
    if (!this.#isWhole) return (await ask({ first: line, last: line }))[0];
    const key = `${whose} ${commit}:${path}`;
    return (await this.#blames.getOrInsertComputed(key, () => ask()))[line - 1];
  }

  #text(version: string, path: string): Promise<FileText | undefined> {
    return this.#texts.getOrInsertComputed(`${version}:${path}`, async () => {
      const text = await this.#history.text(version, path);
      return text === undefined ? undefined : FileText.of(linesOf(text));
    });
  }
}

/** A line without what a formatter changes in it, so that pieces of a broken line are found too. */
function wordsOf(text: string): string {
  return text.replace(/[^\p{L}\p{N}]+/gu, "");
}

function placeOf({ commit, path, line }: BlamedLine): string {
  return `${commit}:${path}:${line}`;
}
