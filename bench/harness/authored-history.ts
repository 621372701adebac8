import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

import { LineTracer } from "../../src/authorship/line-tracer.ts";
import { WorkHistory } from "../../src/authorship/work-history.ts";
import { linesOf } from "../../src/review/anchor/file-text.ts";
import type { Sample } from "./bench.ts";

/** Releases that agents work, of those that there are. */
const RELEASES = 9;
const MOST_FILES = 8;
const PERSON = "";

/** A line of a file, and the session that wrote it. */
interface OwnedLine {
  readonly text: string;
  readonly owner: string;
}

/**
 * Releases of a package as the work of agents, one session each, which is committed, rebased, squashed
 * and formatted: who wrote each line is known, and asked.
 */
export class AuthoredHistory implements Disposable {
  readonly #home = mkdtempSync(join(tmpdir(), "trunkline-authored-"));
  readonly #root = join(this.#home, "work");
  readonly #files = new Map<string, OwnedLine[]>();
  /** What a squash made of several sessions, git alone cannot tell apart. */
  readonly #sessionOf = new Map<string, string>();
  /** Who ever wrote a line of that text in a file: one that comes back may be either's. */
  readonly #writers = new Map<string, Set<string>>();
  #isFormatted = false;

  readonly #counts = { lines: 0, undecided: 0, right: 0, certain: 0, wrong: 0, wrongCertain: 0 };
  readonly #blamed = { right: 0, wrong: 0 };

  get sample(): Sample {
    const { lines, undecided, right, certain, wrong, wrongCertain } = this.#counts;
    const share = (some: number): number => (100 * some) / Math.max(1, lines);
    return {
      lines,
      undecided,
      right: share(right),
      certain: share(certain),
      wrong,
      wrongCertain,
      blameRight: share(this.#blamed.right),
      blameWrong: this.#blamed.wrong,
    };
  }

  async replay(repository: string): Promise<void> {
    rmSync(this.#root, { recursive: true, force: true });
    rmSync(join(this.#home, "data"), { recursive: true, force: true });
    this.#files.clear();
    this.#writers.clear();
    this.#isFormatted = false;
    const args = ["rev-list", "--reverse", "main"];
    const all = execFileSync("git", args, { cwd: repository, encoding: "utf8" }).trim().split("\n");
    // The files of the end are in most of these.
    const releases = spread(all.slice(Math.floor(all.length / 2)), RELEASES);
    execFileSync("git", ["init", "--quiet", "--initial-branch=main", this.#root]);
    this.#git("config", "user.name", "Ada");
    this.#git("config", "user.email", "ada@example.org");
    const [first = "", ...others] = releases;
    const read = (path: string, release: string): string[] => {
      const args = ["show", `${release}:${path}`];
      return linesOf(execFileSync("git", args, { cwd: repository, encoding: "utf8" }));
    };
    const listed = (release: string): string[] => {
      const args = ["ls-tree", "-r", "-z", "--name-only", release];
      const all = execFileSync("git", args, { cwd: repository, encoding: "utf8" }).split("\0");
      return all.filter((path) => /\.(?:m?js|ts)$/.test(path));
    };
    const paths = spread(listed(releases.at(-1) ?? ""), MOST_FILES);
    const write = (release: string, owner: string): Record<string, string[]> => {
      const told: Record<string, string[]> = {};
      for (const path of paths) {
        if (!listed(release).includes(path)) continue;
        this.#files.set(path, this.#edited(path, read(path, release), owner));
        told[path] = linesOf(this.#write(path));
      }
      return told;
    };
    write(first, PERSON);
    this.#save("First", PERSON);
    let n = 0;
    for (const release of others) {
      const session = `s${++n}`;
      const step = { by: "agent", session, turn: "t", call: "c", agent: "a" } as const;
      if (n % 3 === 1) this.#git("switch", "--quiet", "--create", `topic${n}`);
      const history = this.#history;
      await history.record({ by: "person" });
      const since = Date.now();
      const told = write(release, session);
      // Every other one is a command, which says nothing of files.
      await history.record(n % 2 === 0 ? { ...step, since } : { ...step, since, told });
      this.#save(`Session ${session}`, session);
      if (n % 3 === 0 || n === others.length) await this.#bringToMain(Math.ceil(n / 3));
    }
    await this.#score();
  }

  [Symbol.dispose](): void {
    rmSync(this.#home, { recursive: true, force: true });
  }

  get #history(): WorkHistory {
    const history = WorkHistory.of(join(this.#home, "data"), this.#root);
    if (history === undefined) throw new Error("The replayed repository is none");
    return history;
  }

  /** A rebase onto what the person did meanwhile, a squash, or a squash that is formatted. */
  async #bringToMain(round: number): Promise<void> {
    const topic = this.#git("branch", "--show-current").trim();
    this.#git("switch", "--quiet", "main");
    writeFileSync(join(this.#root, `notes${round}.md`), "What the person wrote meanwhile.\n");
    this.#save("Notes", PERSON);
    const made = this.#git("log", "--reverse", "--format=%s", `main..${topic}`).trim().split("\n");
    if (round % 3 === 1) {
      this.#git("rebase", "--quiet", "main", topic);
      this.#git("switch", "--quiet", "main");
      this.#git("merge", "--quiet", "--ff-only", topic);
      const commits = this.#git("rev-list", "--reverse", "-n", String(made.length), "main");
      for (const [at, commit] of commits.trim().split("\n").entries()) {
        this.#sessionOf.set(commit, (made[at] ?? "").replace("Session ", ""));
      }
    } else {
      this.#git("merge", "--quiet", "--squash", topic);
      if (round % 3 === 0) {
        this.#isFormatted = true;
        for (const [path, lines] of this.#files) {
          for (const line of lines) {
            for (const owner of this.#writersOf(path, line.text)) {
              for (const { text } of formatted(line)) this.#writersOf(path, text).add(owner);
            }
          }
          this.#files.set(path, lines.flatMap(formatted));
          this.#write(path);
        }
      }
      this.#save("Squashed", "several");
    }
    this.#git("branch", "-D", topic);
  }

  /** The lines of a file after an edit: those that git's diff does not keep are the writer's. */
  #edited(path: string, raw: readonly string[], owner: string): OwnedLine[] {
    const plain = raw.map((text) => ({ text, owner }));
    const now = this.#isFormatted ? plain.flatMap(formatted) : plain;
    const before = this.#files.get(path);
    if (before === undefined) {
      for (const { text } of now) this.#writersOf(path, text).add(owner);
      return now;
    }
    const [one, other] = [join(this.#home, "one"), join(this.#home, "other")];
    writeFileSync(one, textOf(before));
    writeFileSync(other, textOf(now));
    const kept = [...now];
    let [from, to] = [0, 0];
    const keep = (until: number): void => {
      while (from < until) {
        const { text = "" } = now[to] ?? {};
        kept[to++] = { text, owner: before[from++]?.owner ?? "" };
      }
    };
    for (const row of diffOf(one, other).split("\n")) {
      const [, a, removed = "1", added = "1"] =
        /^@@ -(\d+)(?:,(\d+))? \+\d+(?:,(\d+))? @@/.exec(row) ?? [];
      if (a === undefined) continue;
      keep(Number(removed) === 0 ? Number(a) : Number(a) - 1);
      from += Number(removed);
      to += Number(added);
    }
    keep(before.length);
    for (const line of kept) this.#writersOf(path, line.text).add(line.owner);
    return kept;
  }

  #writersOf(path: string, text: string): Set<string> {
    return this.#writers.getOrInsertComputed(`${path} ${text.replace(/\W/g, "")}`, () => new Set());
  }

  #write(path: string): string {
    const text = textOf(this.#files.get(path) ?? []);
    mkdirSync(dirname(join(this.#root, path)), { recursive: true });
    writeFileSync(join(this.#root, path), text);
    return text;
  }

  #save(message: string, session: string): void {
    this.#git("add", "--all");
    this.#git("commit", "--quiet", "--allow-empty", "--message", message);
    this.#sessionOf.set(this.#git("rev-parse", "HEAD").trim(), session);
  }

  #git(...args: string[]): string {
    return execFileSync("git", args, {
      cwd: this.#root,
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
      maxBuffer: 1 << 28,
    });
  }

  async #score(): Promise<void> {
    for (const [path, owned] of this.#files) {
      const sources = await new LineTracer(this.#history).trace(path);
      const blamed = this.#git("blame", "-w", "-M", "-C", "--porcelain", "HEAD", "--", path)
        .split("\n")
        .flatMap((row) => /^([0-9a-f]{40}) \d+ \d+/.exec(row)?.[1] ?? []);
      for (const [at, { text, owner }] of owned.entries()) {
        // A brace belongs to nobody.
        if (!/[\p{L}\p{N}]/u.test(text)) continue;
        if (this.#writersOf(path, text).size > 1) {
          this.#counts.undecided++;
          continue;
        }
        const { step, certain = false } = sources[at] ?? {};
        this.#counts.lines++;
        const isRight = (step?.session ?? PERSON) === owner && step?.by !== "unknown";
        if (isRight) this.#counts.right++;
        else if (step?.by !== "unknown") this.#counts.wrong++;
        if (certain) this.#counts.certain++;
        if (certain && !isRight) {
          this.#counts.wrongCertain++;
          if (process.env["TRUNKLINE_BENCH_MISSES"] !== undefined)
            console.error(`${path}:${at + 1} is '${owner}'`, sources[at]);
        }
        const alone = this.#sessionOf.get(blamed[at] ?? "");
        if (alone === owner) this.#blamed.right++;
        else this.#blamed.wrong++;
      }
    }
  }
}

/** As a formatter does: other indentation and quotes, and long calls in several lines. */
function formatted({ text, owner }: OwnedLine): OwnedLine[] {
  const [, indent = "", code = ""] =
    /^(\s*)(.*)$/.exec(text.replaceAll("\t", "    ").replaceAll("'", '"')) ?? [];
  const call = /^([^(]*\()([^()]{20,})(\).*)$/.exec(code);
  if (call === null || text.length < 60) return [{ text: indent + code, owner }];
  return [`${call[1]}`, `    ${call[2]},`, `${call[3]}`].map((part) => {
    return { text: indent + part, owner };
  });
}

function textOf(lines: readonly OwnedLine[]): string {
  return lines.map(({ text }) => `${text}\n`).join("");
}

/** Git answers 1 where the files differ. */
function diffOf(one: string, other: string): string {
  try {
    return execFileSync("git", ["diff", "--no-index", "-U0", "-w", one, other], {
      encoding: "utf8",
    });
  } catch (error) {
    return String((error as { stdout?: unknown }).stdout);
  }
}

function spread<Item>(items: readonly Item[], most: number): Item[] {
  if (items.length <= most) return [...items];
  return Array.from({ length: most }, (_, at) => {
    return items[Math.floor((at * (items.length - 1)) / (most - 1))] as Item;
  });
}
