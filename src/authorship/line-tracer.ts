import { FileText, linesOf } from "../review/anchor/file-text.ts";
import { LineMatcher } from "../review/anchor/line-position.ts";
import { type Attestation, NOTES_REF, parseNote } from "./git-ai-note.ts";
import {
  type BlamedLine,
  type BlameRange,
  isCommitted,
  type WorkHistory,
  type WorkStep,
} from "./work-history.ts";

/** Who wrote a line, as far as it is known. */
export interface LineSource {
  readonly text: string;
  /** The line and the file, from 1 on, in the step or commit that wrote it. */
  readonly path: string;
  readonly line: number;
  readonly step: WorkStep;
  /** The step's commit in the history of work; absent where a note or the person's history says it. */
  readonly at?: string;
  /** The commit of the person's repository that has the line; absent where it is not committed. */
  readonly commit?: string | undefined;
  /** Git found the line as it was written. Lines that were formatted or rewritten elsewhere are followed too. */
  readonly certain: boolean;
}

/** Steps back through versions of a line that was only formatted. */
const MOST_STEPS = 20;
/** Versions of a file that a line is looked for in, where its commit came from elsewhere. */
const MOST_VERSIONS = 50;

/** Finds who wrote lines: by the history of work, by notes, by the person's own history. */
export class LineTracer {
  readonly #history: WorkHistory;
  readonly #notes = new Map<string, Promise<readonly Attestation[]>>();
  readonly #texts = new Map<string, Promise<FileText | undefined>>();
  readonly #matchers = new Map<string, LineMatcher>();
  readonly #blames = new Map<string, Promise<readonly BlamedLine[]>>();
  /** Whole files are blamed once; of a single line, git is asked for that line. */
  #isWhole = false;

  constructor(history: WorkHistory) {
    this.#history = history;
  }

  /** Of a file as it is now, or as a commit has it. All lines, or some. */
  async trace(path: string, range?: BlameRange, commit?: string): Promise<LineSource[]> {
    this.#isWhole = range === undefined;
    const now = await this.#history.now(path, commit);
    if (now === undefined) {
      const blamed = await this.#history.blameCommit(commit, path, range);
      return await Promise.all(blamed.map((each) => this.#ofCommit(each, true)));
    }
    const blamed = await this.#history.blame(now, path, range);
    return await Promise.all(blamed.map((each) => this.#ofStep(each, true, MOST_STEPS)));
  }

  /** `left`: how many more versions are looked at. */
  async #ofStep(blamed: BlamedLine, certain: boolean, left: number): Promise<LineSource> {
    const { commit: at, path, line, text } = blamed;
    const step = await this.#history.step(at);
    if (step.by === "agent") return { text, path, line, step, at, certain };
    const before = left > 0 ? await this.#history.before(at) : undefined;
    const was = before === undefined ? undefined : await this.#lineIn(at, before, path, line);
    if (before !== undefined && was !== undefined) {
      const older = await this.#blamed("steps", before, path, was.line);
      if (older !== undefined) return { ...(await this.#ofStep(older, false, left - 1)), text };
    }
    // A line that nobody was seen to write came with a commit, or was written by hand.
    const { head } = step;
    const there = head === undefined ? undefined : await this.#lineIn(at, head, path, line);
    if (head === undefined || there === undefined) return { text, path, line, step, at, certain };
    const committed = await this.#blamed("theirs", head, path, there.line);
    if (committed === undefined) return { text, path, line, step, at, certain };
    return await this.#ofCommit(committed, certain);
  }

  async #ofCommit(blamed: BlamedLine, certain: boolean): Promise<LineSource> {
    const { commit, path, line, text } = blamed;
    if (!isCommitted(blamed)) return { text, path, line, step: { by: "person" }, certain };
    const own = { text, path, line, commit };
    for (const { path: noted, session, edit, lines } of await this.#notesOf(commit)) {
      if (noted !== path || !lines.includes(line)) continue;
      const { tool: agent, id, model } = session;
      const call = edit === undefined ? {} : { call: edit };
      return { ...own, step: { by: "agent", session: id, agent, model, ...call }, certain };
    }
    const found = await this.#elsewhere(commit, path, line);
    if (found !== undefined) return { ...found, text, commit };
    return { ...own, step: { by: "commit" }, certain };
  }

  /** A line that reached a commit by another way, such as a squash at the forge, and is known here. */
  async #elsewhere(commit: string, path: string, line: number): Promise<LineSource | undefined> {
    for (const version of await this.#history.changing(path, MOST_VERSIONS)) {
      const there = await this.#lineIn(commit, version, path, line);
      if (there === undefined) continue;
      const at = await this.#blamed("steps", version, path, there.line);
      if (at === undefined) continue;
      const step = await this.#history.step(at.commit);
      if (step.by === "agent") return { ...at, at: at.commit, step, certain: there.isSame };
    }
    return undefined;
  }

  /** Where a line of one version is in another; undefined where that is not obvious. */
  async #lineIn(
    version: string,
    other: string,
    path: string,
    line: number,
  ): Promise<{ readonly line: number; readonly isSame: boolean } | undefined> {
    const [here, there] = await Promise.all([this.#text(version, path), this.#text(other, path)]);
    if (here === undefined || there === undefined) return undefined;
    if (here.lines.join("\n") === there.lines.join("\n")) return { line, isSame: true };
    const key = `${version} ${other} ${path}`;
    const matcher = this.#matchers.getOrInsertComputed(key, () => new LineMatcher(here, there));
    const { confidence, line: found } = matcher.find(line - 1, line - 1);
    const isObvious = confidence === "exact" || confidence === "high";
    return isObvious && found !== undefined ? { line: found, isSame: false } : undefined;
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

  #notesOf(commit: string): Promise<readonly Attestation[]> {
    return this.#notes.getOrInsertComputed(commit, async () => {
      const call = { env: { GIT_NOTES_REF: NOTES_REF }, accepts: [0, 1, 128] };
      const { code, stdout } = await this.#history.git.run(["notes", "show", commit], call);
      return code === 0 ? parseNote(stdout.toString("utf8")) : [];
    });
  }
}
