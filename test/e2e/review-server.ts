import { type ChildProcessWithoutNullStreams, execFileSync, spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";

import { addCommentIn } from "../../src/review/add-comment.ts";
import { PROGRAM_CACHE } from "../support/leftovers.ts";
import { type Ran, runInProcess } from "../support/run-in-process.ts";

const ROOT = join(import.meta.dirname, "../..");
const TRUNKLINE = join(ROOT, "dist/trunkline.js");

export interface Ended {
  readonly code: unknown;
  readonly out: string;
  readonly err: string;
}

/** A home with a repository in it, and the built program. */
export class ReviewHome implements Disposable {
  readonly path = realpathSync(mkdtempSync(join(tmpdir(), "trunkline-review-")));
  readonly repository = join(this.path, "my répo");
  readonly data = join(this.path, "data");

  constructor() {
    mkdirSync(this.repository);
    this.git("init", "--quiet", "--initial-branch=main");
    this.write("main.go", Array.from({ length: 60 }, (_, n) => `line ${n + 1}\n`).join(""));
    this.git("add", "--all");
    this.git("commit", "--quiet", "--message=one");
  }

  get env(): Record<string, string> {
    const { PATH = "" } = process.env;
    const own = { HOME: this.path, TRUNKLINE_DATA: this.data, USER: "ada" };
    return { PATH, ...own, XDG_CACHE_HOME: PROGRAM_CACHE };
  }

  git(...args: string[]): void {
    const identity = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org"];
    execFileSync("git", [...identity, "-c", "commit.gpgsign=false", ...args], {
      cwd: this.repository,
    });
  }

  write(path: string, content: string): void {
    writeFileSync(join(this.repository, path), content);
  }

  /** Runs a command to its end, in the repository. */
  run(args: readonly string[], input = ""): Promise<Ended> {
    return this.#runProgram(process.execPath, [TRUNKLINE, ...args], input);
  }

  /** The same in this process, which is far quicker. */
  runInProcess(args: readonly string[]): Promise<Ran> {
    return runInProcess(args, { env: this.env, cwd: this.repository });
  }

  /** Runs a line as a person types it. */
  shell(line: string): Promise<Ended> {
    const trunkline = `trunkline() { '${process.execPath}' '${TRUNKLINE}' "$@"; }`;
    return this.#runProgram("bash", ["-c", `set -o pipefail; ${trunkline}; ${line}`], "");
  }

  async #runProgram(program: string, args: readonly string[], input: string): Promise<Ended> {
    const child = spawn(program, args, { cwd: this.repository, env: this.env });
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const [out, err, [code]] = await Promise.all([
      text(child.stdout),
      text(child.stderr),
      once(child, "close") as Promise<[unknown]>,
    ]);
    return { code, out, err };
  }

  /** Leaves a comment. */
  async add(comment: string, file = "main.go", line = 5): Promise<void> {
    const args = ["--file", file, `--line=${line}`, `--comment=${comment}`];
    const { code, err } = await this.run(["review", "add", ...args]);
    if (code !== 0) throw new Error(err);
  }

  /** The same without a program of its own. */
  async addInProcess(comment: string): Promise<void> {
    const told = { file: "main.go", line: 5, comment, by: "ada", source: "test" };
    await addCommentIn(this.data, this.repository, told);
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true, force: true });
  }
}

type Message = { id?: number; method?: string; params?: unknown; result?: never; error?: never };

/** `trunkline mcp` as an assistant starts it, in a repository. */
export class ReviewServer implements AsyncDisposable {
  readonly child: ChildProcessWithoutNullStreams;
  readonly told: Message[] = [];
  readonly exit: Promise<unknown>;
  readonly #answers = new Map<number, PromiseWithResolvers<never>>();
  readonly #changed = new EventEmitter();
  #count = 0;
  #rest = "";

  constructor(home: ReviewHome, env: Readonly<Record<string, string>> = {}) {
    this.child = spawn(process.execPath, [TRUNKLINE, "mcp"], {
      cwd: home.repository,
      env: { ...home.env, ...env },
    });
    this.child.stdin.on("error", () => {});
    this.child.stderr.resume();
    this.child.stdout.setEncoding("utf8").on("data", (chunk: string) => this.#read(chunk));
    // What it wrote before it was killed arrives, too.
    this.exit = once(this.child, "close").then(() => {
      for (const { reject } of this.#answers.values()) reject(new Error("The server is gone"));
    });
  }

  async begin(name = "tester", protocolVersion = "2024-11-05"): Promise<this> {
    await this.ask("initialize", {
      protocolVersion,
      capabilities: {},
      clientInfo: { name, version: "1" },
    });
    this.child.stdin.write('{"jsonrpc":"2.0","method":"notifications/initialized"}\n');
    return this;
  }

  ask(method: string, params: object = {}): Promise<unknown> {
    const id = ++this.#count;
    const answer = Promise.withResolvers<never>();
    this.#answers.set(id, answer);
    this.child.stdin.write(`${JSON.stringify({ jsonrpc: "2.0", id, method, params })}\n`);
    return answer.promise;
  }

  async call(name: string, args: object = {}): Promise<string> {
    const result = await this.ask("tools/call", { name, arguments: args });
    return (result as { content: { text: string }[] }).content[0]?.text ?? "";
  }

  /** Waits for a notification. */
  async hear(method: string): Promise<Message> {
    for (;;) {
      const found = this.told.find((message) => message.method === method);
      if (found !== undefined) return found;
      await once(this.#changed, "change");
    }
  }

  /** Kills the server as soon as it begins to write an answer with messages. */
  killOnMessages(): void {
    this.child.stdout.prependListener("data", (chunk: string) => {
      if (chunk.includes("Message 1:")) this.child.kill("SIGKILL");
    });
  }

  async kill(): Promise<void> {
    this.child.kill("SIGKILL");
    await this.exit;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.stdin.end();
    await this.exit;
  }

  #read(chunk: string): void {
    const lines = (this.#rest + chunk).split("\n");
    this.#rest = lines.pop() ?? "";
    for (const line of lines) {
      const message = JSON.parse(line) as Message;
      const answer = this.#answers.get(message.id ?? -1);
      if (answer === undefined) this.told.push(message);
      else if (message.error !== undefined) answer.reject(new Error(line));
      else answer.resolve(message.result as never);
      this.#answers.delete(message.id ?? -1);
    }
    this.#changed.emit("change");
  }
}

/** The files and comments in an answer, as `file comment`. */
export function commentsIn(answer: string): string[] {
  return [...answer.matchAll(/^File: (.*)\n(?:Line: \d+\n)?Comment: (.*)$/gm)].map(
    ([, file = "", comment = ""]) => `${file} ${comment}`,
  );
}

interface Taken {
  readonly comments: string[];
  /** What the next call acknowledges. */
  readonly delivery: string | undefined;
}

/** Takes what has come, and acknowledges what came before. */
async function take(server: ReviewServer, after: string | undefined): Promise<Taken> {
  const args = after === undefined ? {} : { after };
  const result = (await server.ask("tools/call", {
    name: "check_lazygit_messages",
    arguments: args,
  })) as { content: { text: string }[]; _meta?: Record<string, unknown> };
  const comments = commentsIn(result.content[0]?.text ?? "");
  const delivery = result._meta?.["trunkline/delivery"];
  return { comments, delivery: typeof delivery === "string" ? delivery : undefined };
}

/**
 * Reads everything that is written meanwhile, through a server that is killed at random moments and
 * started again, and acknowledges what it has read: otherwise a comment would come once more whose
 * answer the server was killed on. Gives what came, in the order it came, and how often the server was
 * killed. The last server lives until all is taken in. On a busy machine servers live longer, by what a
 * start takes there: if none came so far, nothing would ever be taken in.
 */
export async function readWhileKilled(
  home: ReviewHome,
  writing: Promise<unknown>,
  longestLife: number,
  isTakenIn: () => boolean = () => true,
): Promise<{ readonly got: string[]; readonly kills: number }> {
  const got: string[] = [];
  let isWriting = true;
  let kills = 0;
  let after: string | undefined;
  /** Milliseconds that a server needs to begin, as far as is known. */
  let beginning = 0;
  void writing.catch(() => {}).finally(() => (isWriting = false));
  for (;;) {
    const server = new ReviewServer(home, { TRUNKLINE_REVIEW_FIRST: "oldest" });
    const killing = isWriting;
    const life = 100 + Math.random() * (longestLife + beginning);
    const timer = setTimeout(() => server.child.kill("SIGKILL"), life);
    if (!killing) clearTimeout(timer);
    const start = performance.now();
    let hasBegun = false;
    try {
      await server.begin("reader");
      hasBegun = true;
      beginning = performance.now() - start;
      for (;;) {
        const wasWriting = isWriting || !isTakenIn();
        const { comments: found, delivery } = await take(server, after);
        got.push(...found);
        after = delivery ?? after;
        if (found.length === 0 && !wasWriting && !killing) break;
        if (found.length === 0 && killing && !isWriting) server.child.kill("SIGKILL");
      }
      await server[Symbol.asyncDispose]();
      return { got, kills };
    } catch (error) {
      if (!server.child.killed) throw error;
      kills++;
      if (!hasBegun) beginning = Math.max(beginning, life);
    } finally {
      clearTimeout(timer);
    }
    await server.exit;
  }
}

/**
 * Leaves a comment for each round, and reads through servers that are killed on each of their answers
 * until nothing more comes. Gives how often each comment came.
 */
export async function readKilledOnAnswers(
  home: ReviewHome,
  rounds: number,
  reader: string,
  acknowledges: boolean,
): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>();
  let after: string | undefined;
  for (let left = rounds, found = 1; left > 0 || found > 0; left--) {
    if (left > 0) await home.addInProcess(`${reader} ${left}`);
    await using server = await new ReviewServer(home).begin(reader);
    server.killOnMessages();
    const { comments, delivery } = await take(server, acknowledges ? after : undefined);
    found = comments.length;
    for (const comment of comments) times.set(comment, (times.get(comment) ?? 0) + 1);
    after = delivery ?? after;
  }
  return times;
}
