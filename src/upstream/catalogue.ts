import { createHash } from "node:crypto";
import { mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";

import type { Era } from "../protocol/mcp/client-handshake.ts";
import type { UpstreamSettings } from "./settings.ts";

type Entries = readonly Readonly<Record<string, unknown>>[];

/** What an upstream offers. */
export interface Catalogue {
  readonly tools: Entries;
  readonly prompts: Entries;
  readonly resources: Entries;
  readonly templates: Entries;
}

export const EMPTY_CATALOGUE: Catalogue = { tools: [], prompts: [], resources: [], templates: [] };

/** What is known of an upstream from the last time. */
export interface Remembered {
  readonly era: Era;
  readonly catalogue: Catalogue;
}

interface Saved extends Remembered {
  readonly version: 1;
  /** The program or the address that it was learned from. */
  readonly source: string;
}

/**
 * What upstreams offered when they last ran: lists are answered from it before any of them is
 * started. Of one that is now another program, nothing is known.
 */
export class CatalogueFile {
  readonly #path: string;
  readonly #source: string;
  #writing: Promise<void> = Promise.resolve();

  constructor(folder: string, name: string, settings: UpstreamSettings) {
    this.#path = join(folder, `${encodeURIComponent(name)}.json`);
    this.#source = sourceOf(settings);
  }

  async read(): Promise<Remembered | undefined> {
    try {
      const saved = JSON.parse(await readFile(this.#path, "utf8")) as Partial<Saved>;
      if (saved.version !== 1 || saved.source !== this.#source) return undefined;
      const { era = "auto", catalogue } = saved;
      const isWhole = KINDS.every((kind) => Array.isArray(catalogue?.[kind]));
      return isWhole ? { era, catalogue: catalogue as Catalogue } : undefined;
    } catch {
      // Not there, or not readable: then it is learned again.
      return undefined;
    }
  }

  /** One write after the other. Rejects when it cannot be kept. */
  write(remembered: Remembered): Promise<void> {
    const saved: Saved = { version: 1, source: this.#source, ...remembered };
    this.#writing = this.#writing.catch(() => {}).then(() => this.#replace(JSON.stringify(saved)));
    return this.#writing;
  }

  /** Resolves when what was to be kept is. */
  written(): Promise<void> {
    return this.#writing.catch(() => {});
  }

  async #replace(text: string): Promise<void> {
    const draft = `${this.#path}.${process.pid}.new`;
    await mkdir(dirname(this.#path), { recursive: true, mode: 0o700 });
    try {
      await writeFile(draft, text, { mode: 0o600 });
      await rename(draft, this.#path);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
  }
}

const KINDS = ["tools", "prompts", "resources", "templates"] as const;

/** Without variables and headers: they may be secrets, and do not make it another program. */
function sourceOf(settings: UpstreamSettings): string {
  const source =
    "command" in settings
      ? [settings.command, settings.args ?? [], settings.cwd ?? ""]
      : [settings.url];
  return createHash("sha256").update(JSON.stringify(source)).digest("base64url");
}
