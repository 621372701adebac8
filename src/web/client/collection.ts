import { computed, type ReadonlySignal, signal } from "@preact/signals";

import type { Change, Page } from "../../server/dashboard/api.ts";
import { RequestError } from "./request.ts";

export interface CollectionOptions<T> {
  /** Fetches one page. */
  readonly fetch: (cursor: string | undefined) => Promise<Page<T>>;
  readonly idOf: (row: T) => string;
  readonly compare: (a: T, b: T) => number;
}

type LoadState = "new" | "loading" | "loaded" | { readonly failed: string };

/** Rows of the server, kept current by live events. Changes are applied to the page once a frame. */
export class Collection<T> {
  readonly state = signal<LoadState>("new");
  readonly rows: ReadonlySignal<readonly T[]>;
  readonly #options: CollectionOptions<T>;
  readonly #byId = new Map<string, T>();
  /** The map in a new object after each change, so that the signal notices it. */
  readonly #shown = signal({ byId: this.#byId });
  #loading: Promise<void> | undefined;
  /** Ids that live events touched while pages were loading: the pages may be older. */
  #touched: Set<string> | undefined;

  constructor(options: CollectionOptions<T>) {
    this.#options = options;
    this.rows = computed(() => [...this.#shown.value.byId.values()].toSorted(options.compare));
  }

  readonly idOf = (row: T): string => this.#options.idOf(row);

  get(id: string): T | undefined {
    return this.#shown.value.byId.get(id);
  }

  /** Loads the rows unless they are here. */
  load(): Promise<void> {
    return this.state.peek() === "loaded" ? Promise.resolve() : this.reload();
  }

  reload(): Promise<void> {
    this.#loading ??= this.#loadAll().finally(() => (this.#loading = undefined));
    return this.#loading;
  }

  apply({ id, row }: Change<T>): void {
    this.#touched?.add(id);
    if (row === null) this.#byId.delete(id);
    else this.#byId.set(id, row);
    this.#changed();
  }

  put(row: T): void {
    this.apply({ id: this.idOf(row), row });
  }

  async #loadAll(): Promise<void> {
    if (this.state.peek() !== "loaded") this.state.value = "loading";
    this.#touched = new Set();
    const seen = new Set<string>();
    try {
      let cursor: string | undefined;
      do {
        const page = await this.#options.fetch(cursor);
        for (const row of page.rows) {
          const id = this.idOf(row);
          seen.add(id);
          if (!this.#touched.has(id)) this.#byId.set(id, row);
        }
        this.#changed();
        cursor = page.next;
      } while (cursor !== undefined);
      for (const id of this.#byId.keys()) {
        if (!seen.has(id) && !this.#touched.has(id)) this.#byId.delete(id);
      }
      this.#changed();
      this.state.value = "loaded";
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      this.state.value = { failed: error.message };
    } finally {
      this.#touched = undefined;
    }
  }

  readonly #changed = oncePerFrame(() => {
    this.#shown.value = { byId: this.#byId };
  });
}

/** A function that has the action run with the next frame, once for any number of calls. */
export function oncePerFrame(action: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    nextFrame(() => {
      isScheduled = false;
      action();
    });
  };
}

/** A hidden page has no frames. */
function nextFrame(action: () => void): void {
  // There is no page in a unit test.
  if (typeof document === "undefined") queueMicrotask(action);
  else if (document.hidden) setTimeout(action, 100);
  else requestAnimationFrame(action);
}
