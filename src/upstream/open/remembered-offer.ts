import {
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, sep } from "node:path";

import { VERSION } from "../../base/version.ts";
import { approvalsPath } from "../../store/store-files.ts";
import type { ServerText } from "../../tool/offer/server-instructions.ts";
import type { Prompt, Tool, ToolSource } from "../../tool/tool.ts";
import { hashOf, sourceOf } from "../catalogue-key.ts";
import type { Config } from "../../config/config.ts";

/** A tool without its code. */
export interface RememberedTool extends Omit<Tool, "call"> {
  readonly source: ToolSource;
}

/** A prompt without its code. */
export type RememberedPrompt = Pick<Prompt, "definition" | "source">;

/** The tools and prompts of other servers, as lists show them, and what the servers say. */
export interface Remembered {
  readonly tools: readonly RememberedTool[];
  readonly prompts: readonly RememberedPrompt[];
  /** Only what was approved. */
  readonly instructions: readonly ServerText[];
}

interface Saved extends Remembered {
  readonly version: string;
  readonly inputs: readonly number[];
}

/** Of the file's form. */
const FORM = 2;
/** Offers that are kept: one for each set of servers, such as that of a project. */
const MOST = 16;
/** Milliseconds: the resolution of file time stamps. */
const TICK = 100;
/** The same where a file system counts seconds. */
const COARSE_TICK = 2_100;

/**
 * A cache of what the configured servers offered at the last start, after renaming and approval, so
 * that the next start reads one file and loads no code. It is valid as long as the files that it was
 * made from have the same time stamps.
 */
export class RememberedOffer {
  readonly #path: string;
  /** The time stamps of the files that it is made from, taken before they are read. */
  readonly #inputs: number[] = [];
  readonly #areSettled: boolean;

  constructor(
    { data, mcpServers, policy }: Pick<Config, "data" | "mcpServers" | "policy">,
    now = Date.now(),
  ) {
    const sources = Object.entries(mcpServers).map(([name, settings]) => {
      return [name, sourceOf(settings), settings.disabled, settings.timeout];
    });
    const key = hashOf(JSON.stringify([FORM, policy.tools.approve, sources]));
    this.#path = `${data}${sep}offers${sep}${key}.json`;
    // A catalogue is never written to but replaced, which shows in the folder. Looking at each would
    // take so much memory that the first collection comes before the first list.
    const inputs = [approvalsPath(data), `${data}${sep}upstreams`];
    this.#areSettled = inputs.every((path) => {
      const stamp = stampOf(path);
      this.#inputs.push(...stamp);
      return isSettled(stamp, now);
    });
  }

  /** Undefined where the cache is not valid, or another user could have written it. */
  read(): Remembered | undefined {
    if (!this.#areSettled || !isOurs(this.#path)) return undefined;
    try {
      const saved = JSON.parse(readFileSync(this.#path, "utf8")) as Partial<Saved>;
      const { version, inputs, tools, prompts, instructions } = saved;
      if (version !== VERSION || !Array.isArray(inputs)) return undefined;
      const isSame = this.#inputs.every((number, index) => number === inputs[index]);
      if (!isSame || inputs.length !== this.#inputs.length) return undefined;
      const isWhole = [tools, prompts, instructions].every((part) => Array.isArray(part));
      return isWhole ? ({ tools, prompts, instructions } as Remembered) : undefined;
    } catch {
      // A damaged cache is made again.
      return undefined;
    }
  }

  /**
   * Writes the cache. Not where a file changed so lately that another change might keep its stamp.
   */
  write(remembered: Remembered): void {
    if (!this.#areSettled) return;
    const saved: Saved = { version: VERSION, inputs: this.#inputs, ...remembered };
    const folder = dirname(this.#path);
    const draft = `${this.#path}.${process.pid}.new`;
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    try {
      writeFileSync(draft, JSON.stringify(saved), { mode: 0o600 });
      renameSync(draft, this.#path);
    } finally {
      rmSync(draft, { force: true });
    }
    prune(folder);
  }
}

/** Fields of which at least one differs after a change of a file or folder. */
function stampOf(path: string): number[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? [] : [stats.mtimeMs, stats.ctimeMs, stats.size, stats.ino];
}

/** Whether another change from now on would show. */
function isSettled([mtime = NaN, ctime = NaN]: readonly number[], now: number): boolean {
  const tick = mtime % 1000 === 0 ? COARSE_TICK : TICK;
  return Math.max(mtime, ctime) < now - tick;
}

/** Its tools are offered without asking for approval, so nobody else may have written it. */
function isOurs(file: string): boolean {
  const stats = statSync(file, { throwIfNoEntry: false });
  if (stats?.isFile() !== true) return false;
  if (process.getuid === undefined) return true;
  return stats.uid === process.getuid() && (stats.mode & 0o022) === 0;
}

function prune(folder: string): void {
  const files = readdirSync(folder).map((name) => join(folder, name));
  if (files.length <= MOST) return;
  const ages = new Map(
    files.map((file) => [file, statSync(file, { throwIfNoEntry: false })?.mtimeMs ?? 0]),
  );
  const newestFirst = files.toSorted((a, b) => (ages.get(b) ?? 0) - (ages.get(a) ?? 0));
  for (const file of newestFirst.slice(MOST)) rmSync(file, { force: true });
}
