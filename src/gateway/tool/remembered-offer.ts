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
import type { PromptDefinition } from "../../tool/prompt.ts";
import type { Tool, ToolSource } from "../../tool/tool.ts";
import { hashOf, sourceOf } from "../../upstream/catalogue-key.ts";
import type { Config } from "../config/config.ts";

/** A tool but for what it does. */
export interface RememberedTool extends Omit<Tool, "call"> {
  readonly source: ToolSource;
}

/** What other servers' tools and prompts are to whoever asks for a list. */
export interface Remembered {
  readonly tools: readonly RememberedTool[];
  readonly prompts: readonly PromptDefinition[];
}

interface Saved extends Remembered {
  readonly version: string;
  readonly inputs: readonly number[];
}

/** Offers that are kept: one for each set of servers, such as that of a project. */
const MOST = 16;
/** A clock that stamps files may stand still for so long, in milliseconds. */
const TICK = 100;
/** The same where a file system counts seconds. */
const COARSE_TICK = 2_100;

/**
 * What the configured servers offered together at the last start, with all names given and all
 * approvals looked up, so that the next start reads one file and loads nothing more. It holds for as
 * long as nothing that it was made from has changed, by the stamps of the files.
 */
export class RememberedOffer {
  readonly #path: string;
  /** What it is made from, as it is now, which must be before it is read. */
  readonly #inputs: number[] = [];
  readonly #areSettled: boolean;

  constructor(
    { data, mcpServers, policy }: Pick<Config, "data" | "mcpServers" | "policy">,
    now = Date.now(),
  ) {
    const sources = Object.entries(mcpServers).map(([name, settings]) => {
      return [name, sourceOf(settings)];
    });
    const key = hashOf(JSON.stringify([policy.tools.approve, sources]));
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

  /** Undefined when it does not hold, or nobody knows who wrote it. */
  read(): Remembered | undefined {
    if (!this.#areSettled || !isOurs(this.#path)) return undefined;
    try {
      const saved = JSON.parse(readFileSync(this.#path, "utf8")) as Partial<Saved>;
      const { version, inputs, tools, prompts } = saved;
      if (version !== VERSION || !Array.isArray(inputs)) return undefined;
      const isSame = this.#inputs.every((number, index) => number === inputs[index]);
      if (!isSame || inputs.length !== this.#inputs.length) return undefined;
      return Array.isArray(tools) && Array.isArray(prompts) ? { tools, prompts } : undefined;
    } catch {
      // Then it is made again.
      return undefined;
    }
  }

  /** Keeps what was made from the files. Not when one changed so lately that its stamp may lie. */
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

/** Of which at least one differs between a file or a folder and the same after a change. */
function stampOf(path: string): number[] {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats === undefined ? [] : [stats.mtimeMs, stats.ctimeMs, stats.size, stats.ino];
}

/** Whether another change from now on would show. */
function isSettled([mtime = NaN, ctime = NaN]: readonly number[], now: number): boolean {
  const tick = mtime % 1000 === 0 ? COARSE_TICK : TICK;
  return Math.max(mtime, ctime) < now - tick;
}

/** What is in it is offered without being judged again, so nobody else may have written it. */
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
