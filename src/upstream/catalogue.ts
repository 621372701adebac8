import { readFileSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { mkdir, rename, rm, writeFile } from "node:fs/promises";

import { attempt } from "../base/attempt.ts";
import { TaskQueue } from "../base/limit/task-queue.ts";
import type { Era } from "../protocol/mcp/connect/handshake.ts";
import { cataloguePath, hashOf, sourceOf } from "./catalogue-key.ts";
import type { UpstreamSettings } from "./settings.ts";

type Entries = readonly Readonly<Record<string, unknown>>[];

/** What an upstream offers. */
export interface Catalogue {
  readonly tools: Entries;
  /** Why it has none, in words that complete "it has no tools: …". */
  readonly noTools?: string;
  /** Any call may be answered with a task, without a mark on the tool: since 2026-07-28 (SEP-2663). */
  readonly hasTasks?: boolean;
  /** Its instructions for a model; a very long text is cut. */
  readonly instructions?: string;
  readonly prompts: Entries;
  readonly resources: Entries;
  readonly templates: Entries;
  /** Whether it has resources, listed or not. Known together with its tools. */
  readonly hasResources?: boolean;
  /** The extensions that it has, and that we pass on, with its settings for them. */
  readonly extensions?: Readonly<Record<string, unknown>>;
  /** Lists that have not arrived yet. They are empty here, although the server may have entries. */
  readonly unknown?: readonly CatalogueKind[];
}

export type CatalogueKind = "tools" | "prompts" | "resources";

/** Before anything is listed. */
export const EMPTY_CATALOGUE: Catalogue = {
  tools: [],
  prompts: [],
  resources: [],
  templates: [],
  unknown: ["tools", "prompts", "resources"],
};

export function isKnown(catalogue: Catalogue | undefined): boolean {
  return catalogue !== undefined && (catalogue.unknown ?? []).length === 0;
}

/** The stored catalogue of an upstream from an earlier run. */
export interface RememberedCatalogue {
  readonly era: Era;
  readonly catalogue: Catalogue;
}

/** The version of the file format. */
const VERSION = 4;

interface SavedCatalogue extends RememberedCatalogue {
  readonly version: typeof VERSION;
  /** The program or the address that it was learned from. */
  readonly source: string;
}

/**
 * The catalogues of an earlier run, as files. Lists are answered from them before any upstream is
 * started. A catalogue counts only for the program or address that it was learned from.
 */
export class CatalogueFile {
  readonly #path: string;
  readonly #source: string;
  readonly #writes = new TaskQueue();

  constructor(folder: string, name: string, settings: UpstreamSettings) {
    this.#path = cataloguePath(folder, name);
    this.#source = hashOf(JSON.stringify(sourceOf(settings)));
  }

  async read(): Promise<RememberedCatalogue | undefined> {
    // Missing or unreadable: it is fetched again.
    return attempt(() => {
      // Synchronously: the start waits for it, and loading node:fs/promises takes longer than reading.
      if (statSync(this.#path, { throwIfNoEntry: false }) === undefined) return undefined;
      const saved = JSON.parse(readFileSync(this.#path, "utf8")) as Partial<SavedCatalogue>;
      if (saved.version !== VERSION || saved.source !== this.#source) return undefined;
      const { era = "auto", catalogue } = saved;
      const isWhole = KINDS.every((kind) => Array.isArray(catalogue?.[kind]));
      return isWhole ? { era, catalogue: catalogue as Catalogue } : undefined;
    });
  }

  /** Writes one after the other. Rejects if the file cannot be written. */
  write(remembered: RememberedCatalogue): Promise<void> {
    const saved: SavedCatalogue = { version: VERSION, source: this.#source, ...remembered };
    return this.#writes.run(() => this.#replace(JSON.stringify(saved)));
  }

  /** Resolves when all writes are done. */
  written(): Promise<void> {
    return this.#writes.idle();
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
