import { background } from "../../../base/background.ts";
import type { LiveRows } from "./live-rows.ts";
import type { LiveSource } from "./polled-rows.ts";

/** Milliseconds for which sources are polled after the last watcher has left: a page may reconnect. */
const LINGER = 30_000;

export interface SourcePollerOptions {
  readonly rows: LiveRows;
  readonly sources: readonly LiveSource[];
  /** A look has failed. It is repeated, so this is called for the first failure only. */
  readonly failed: (error: unknown) => void;
  /** No look fails any more. */
  readonly recovered?: () => void;
  readonly linger?: number;
}

/** Polls sources while somebody watches. */
export class SourcePoller implements Disposable {
  readonly #options: SourcePollerOptions;
  #watchers = 0;
  #looks: NodeJS.Timeout[] = [];
  #leaving: NodeJS.Timeout | undefined;
  #begun: Promise<unknown> | undefined;
  readonly #looking = new Map<LiveSource, Promise<void>>();
  readonly #failing = new Set<LiveSource>();

  constructor(options: SourcePollerOptions) {
    this.#options = options;
  }

  /** Resolves when every source was looked at once, so that no change is missed from then on. */
  async enter(): Promise<Disposable> {
    clearTimeout(this.#leaving);
    this.#watchers++;
    this.#begun ??= this.#begin();
    await this.#begun;
    const leaving = new DisposableStack();
    leaving.defer(() => this.#leave());
    return leaving;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#leaving);
    this.#stop();
  }

  async #begin(): Promise<void> {
    const { sources } = this.#options;
    this.#looks = sources.map((source) =>
      setInterval(
        () => background(this.#look(source), "Looking for changes"),
        source.every,
      ).unref(),
    );
    await Promise.all(sources.map((source) => this.#look(source)));
  }

  /** Looks once at a time: a slow look is not overtaken by the next. */
  #look(source: LiveSource): Promise<void> {
    return this.#looking.getOrInsertComputed(source, () =>
      this.#lookNow(source).finally(() => this.#looking.delete(source)),
    );
  }

  async #lookNow(source: LiveSource): Promise<void> {
    try {
      await source.look(this.#options.rows);
      if (this.#failing.delete(source) && this.#failing.size === 0) this.#options.recovered?.();
    } catch (error) {
      if (this.#failing.has(source)) return;
      this.#failing.add(source);
      this.#options.failed(error);
    }
  }

  #leave(): void {
    if (--this.#watchers > 0) return;
    const { linger = LINGER } = this.#options;
    this.#leaving = setTimeout(() => this.#stop(), linger).unref();
  }

  #stop(): void {
    for (const look of this.#looks) clearInterval(look);
    this.#looks = [];
    this.#begun = undefined;
    for (const source of this.#options.sources) source.reset();
    this.#options.rows.pause();
  }
}
