import { lstatSync, readdirSync, rmSync } from "node:fs";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";

import { fileWords, TrunklineError } from "../../base/errors.ts";
import { OwnedChild } from "../../base/process/child-process.ts";
import { usualVariables } from "../../base/process/environment.ts";
import { selfCommand } from "../../base/process/self-command.ts";
import { shellWord } from "../../base/text/shell-word.ts";
import { visibleLine } from "../../base/text/visible.ts";
import { counted } from "../../base/text/counted.ts";
import { FileLock } from "../../store/file-lock.ts";

interface StageOptions {
  /** Takes a line that a person sees. */
  readonly show: (line: string) => void;
  /** Columns of a line. */
  readonly width: number;
  readonly signal: AbortSignal;
  /** Where its folder is made: that of temporary files if left out. */
  readonly parent?: string;
}

const PREFIX = "trunkline-demo-";
const LOCK = "lock";

async function temporaryFolder(parent: string): Promise<string> {
  try {
    removeLeft(parent);
    return await mkdtemp(join(parent, PREFIX));
  } catch (error) {
    const says = `Cannot make a folder in '${parent}': ${fileWords(error, parent)}`;
    throw new TrunklineError("unavailable", `${says}. Set TMPDIR to another.`, { cause: error });
  }
}

/** Removes the folders of demos that were killed: their lock is there, and nobody has it. */
function removeLeft(parent: string): void {
  for (const name of readdirSync(parent).filter((each) => each.startsWith(PREFIX))) {
    const folder = join(parent, name);
    // Others can make folders there, too.
    const isOwn = lstatSync(folder, { throwIfNoEntry: false })?.uid === process.getuid?.();
    if (!isOwn || !isLeft(join(folder, LOCK))) continue;
    try {
      rmSync(folder, { recursive: true, force: true });
    } catch {
      // The next demo tries again.
    }
  }
}

/** One that was just made may not be locked yet. */
function isLeft(lock: string): boolean {
  const made = lstatSync(lock, { throwIfNoEntry: false })?.mtimeMs ?? Infinity;
  return made < Date.now() - 10_000 && !FileLock.isTaken(lock);
}

/** A program that goes on while others run. */
interface Background {
  /** The next line that it prints. */
  line(): Promise<string>;
  send(text: string): void;
}

/** A home, a configuration and a data folder in a temporary place, and what runs there. */
export class Stage implements AsyncDisposable {
  readonly folder: string;
  readonly env: NodeJS.ProcessEnv;
  readonly #options: StageOptions;
  readonly #children = new Set<OwnedChild>();
  #lock: FileLock | undefined;
  /** The process ends at once when nobody reads its output any more. */
  readonly #atExit = (): void => rmSync(this.folder, { recursive: true, force: true });

  private constructor(folder: string, options: StageOptions) {
    this.folder = folder;
    this.#options = options;
    process.once("exit", this.#atExit);
    this.env = {
      ...usualVariables(),
      HOME: join(folder, "home"),
      TRUNKLINE_DATA: join(folder, "data"),
      TRUNKLINE_CONFIG: join(folder, "config.jsonc"),
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_TERMINAL_PROMPT: "0",
      NO_COLOR: "1",
    };
  }

  static async set(options: StageOptions): Promise<Stage> {
    const stage = new Stage(await temporaryFolder(options.parent ?? tmpdir()), options);
    stage.#lock = await FileLock.take(stage.path(LOCK));
    await mkdir(stage.path("home"));
    return stage;
  }

  path(...names: string[]): string {
    return join(this.folder, ...names);
  }

  async write(name: string, text: string): Promise<void> {
    await writeFile(this.path(name), text);
  }

  /** Runs a line as a person types it, and shows it with its output. Fails if it ends with another exit code. */
  async type(
    words: readonly string[],
    { cwd = "app", code = 0, shown = 6 }: { cwd?: string; code?: number; shown?: number } = {},
  ): Promise<string> {
    this.say(`$ ${words.map(shellWord).join(" ")}`);
    const printed: string[] = [];
    const child = await this.#start(words, cwd, (line) => printed.push(line));
    child.stdin.end();
    for await (const line of createInterface({ input: child.stdout })) printed.push(line);
    const exit = await child.exit;
    this.#children.delete(child);
    for (const line of printed.slice(0, shown)) this.say(`  ${line}`);
    if (printed.length > shown) this.say(`  … ${counted(printed.length - shown, "more line")}`);
    this.#options.signal.throwIfAborted();
    if (exit === code) return printed.join("\n");
    const what = `'${words.slice(0, 3).join(" ")}' ended with ${exit}, not ${code}`;
    throw new TrunklineError("unavailable", `${what}: ${printed.slice(-3).join(" ")}`);
  }

  async start(words: readonly string[], cwd = "app"): Promise<Background> {
    this.say(`$ ${words.map(shellWord).join(" ")}`);
    const said: string[] = [];
    const child = await this.#start(words, cwd, (line) => said.push(line));
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const line = async (): Promise<string> => {
      const next = await lines.next();
      this.#options.signal.throwIfAborted();
      if (next.done !== true) return next.value;
      const what = `'${words.slice(0, 3).join(" ")}' ended early`;
      throw new TrunklineError("unavailable", `${what}: ${said.slice(-3).join(" ")}`);
    };
    const send = (text: string): void => {
      child.stdin.write(`${text}\n`);
    };
    return { line, send };
  }

  say(line: string): void {
    const { show, width } = this.#options;
    const text = visibleLine(line);
    show(text.length > width ? `${text.slice(0, width - 1)}…` : text);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await rm(this.folder, { recursive: true, force: true });
  }

  /** Ends what runs, and leaves the folder. */
  async end(): Promise<void> {
    process.off("exit", this.#atExit);
    await Promise.all([...this.#children].map((child) => child[Symbol.asyncDispose]()));
    this.#children.clear();
    // A folder that is left on purpose has no lock.
    rmSync(this.path(LOCK), { force: true });
    this.#lock?.[Symbol.dispose]();
  }

  async #start(
    words: readonly string[],
    cwd: string,
    stderr: (line: string) => void,
  ): Promise<OwnedChild> {
    this.#options.signal.throwIfAborted();
    const [name = "", ...args] = words;
    const [command, ...first] = name === "trunkline" ? selfCommand() : [name];
    const child = await OwnedChild.start({
      command,
      args: [...first, ...args],
      env: this.env,
      cwd: this.path(cwd),
      // A gateway takes its mounts down before it ends.
      grace: 5_000,
      stderr,
    });
    this.#children.add(child);
    return child;
  }
}

export interface Message {
  readonly id?: unknown;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: { readonly message: string };
}

/** A client of a protocol on standard streams, whose messages are shown as they are. */
export class Transcript {
  readonly #stage: Stage;
  readonly #program: Background;
  #last = 0;

  constructor(stage: Stage, program: Background) {
    this.#stage = stage;
    this.#program = program;
  }

  /**
   * Sends a request, shows all that comes until its answer, and gives the answer. `reply` may answer what
   * is asked meanwhile.
   */
  async ask(
    method: string,
    params: object,
    reply: (asked: Message) => object | undefined = () => undefined,
  ): Promise<Readonly<Record<string, unknown>>> {
    const id = ++this.#last;
    this.#send({ jsonrpc: "2.0", id, method, params });
    for (;;) {
      const text = await this.#program.line();
      this.#stage.say(`  ← ${text}`);
      const message = JSON.parse(text) as Message;
      const result = message.method === undefined ? undefined : reply(message);
      if (result !== undefined) this.#send({ jsonrpc: "2.0", id: message.id, result });
      if (message.id !== id || message.method !== undefined) continue;
      if (message.error !== undefined) throw new Error(`${method}: ${message.error.message}`);
      return message.result as Readonly<Record<string, unknown>>;
    }
  }

  notify(method: string): void {
    this.#send({ jsonrpc: "2.0", method });
  }

  #send(message: object): void {
    const text = JSON.stringify(message);
    this.#stage.say(`  → ${text}`);
    this.#program.send(text);
  }
}

/** The id of a thread in what a review tool answered. */
export function idIn(answer: string): string | undefined {
  return /\b(r[a-z0-9]{5}) \(/.exec(answer)?.[1];
}
