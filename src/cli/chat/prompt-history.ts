import { appendFile, mkdir, open, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import { parsedJson } from "../../base/check.ts";
import { replaceFile } from "../../store/replace-file.ts";

/** Prompts that are kept, and bytes of the file after which older ones are dropped. */
const MOST = 1_000;
const MOST_BYTES = 1024 * 1024;
/** Characters of a prompt that is remembered. */
const LONGEST = 20_000;

/** What a person has sent at the terminal, in all sessions, oldest first. */
export class PromptHistory {
  readonly #path: string;
  /** The most recent ones last, each once. */
  readonly all: string[] = [];
  /** How far back the person has gone, and what was in the line before. */
  #back = 0;
  #draft = "";

  constructor(data: string) {
    this.#path = join(data, "chat-history.jsonl");
  }

  /** Reads what earlier sessions have left. A file that is damaged or cannot be read has nothing. */
  async load(): Promise<void> {
    const text = await readFile(this.#path, "utf8").catch(() => "");
    const known = [...new Set(text.split("\n").toReversed().flatMap(readEntry))].slice(0, MOST);
    this.all.unshift(...known.toReversed());
    if (text.length <= MOST_BYTES) return;
    const kept = this.all.slice(-MOST / 2).map((each) => `${JSON.stringify(each)}\n`);
    await replaceFile(this.#path, kept.join("")).catch(() => {});
  }

  /** Remembers a prompt. Only the owner can read the file. */
  async add(text: string): Promise<void> {
    this.#back = 0;
    if (text.length > LONGEST || this.all.at(-1) === text) return;
    this.all.push(text);
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    // Lines of several terminals do not mix: each is one write at the end of the file.
    await using file = await open(this.#path, "a", 0o600);
    await appendFile(file, `${JSON.stringify(text)}\n`);
  }

  /** The prompt before or after the one that is shown; undefined where there is none. */
  go(by: -1 | 1, now: string): string | undefined {
    const back = this.#back - by;
    if (back < 0 || back > this.all.length) return undefined;
    if (this.#back === 0) this.#draft = now;
    this.#back = back;
    return back === 0 ? this.#draft : this.all.at(-back);
  }
}

function readEntry(text: string): string[] {
  const entry = parsedJson(text);
  return typeof entry === "string" ? [entry] : [];
}
