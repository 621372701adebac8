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
export function sourcePoller(options: SourcePollerOptions) {
  const { rows, sources, failed, recovered, linger = LINGER } = options;
  let watchers = 0;
  let looks: NodeJS.Timeout[] = [];
  let leaving: NodeJS.Timeout | undefined;
  let begun: Promise<unknown> | undefined;
  const looking = new Map<LiveSource, Promise<void>>();
  const failing = new Set<LiveSource>();

  /** Resolves when every source was looked at once, so that no change is missed from then on. */
  async function enter(): Promise<Disposable> {
    clearTimeout(leaving);
    watchers++;
    begun ??= begin();
    await begun;
    const ends = new DisposableStack();
    ends.defer(leave);
    return ends;
  }

  async function begin(): Promise<void> {
    looks = sources.map((source) =>
      setInterval(() => background(look(source), "Looking for changes"), source.every).unref(),
    );
    await Promise.all(sources.map((source) => look(source)));
  }

  /** Looks once at a time: a slow look is not overtaken by the next. */
  function look(source: LiveSource): Promise<void> {
    return looking.getOrInsertComputed(source, () =>
      lookNow(source).finally(() => looking.delete(source)),
    );
  }

  async function lookNow(source: LiveSource): Promise<void> {
    try {
      await source.look(rows);
      if (failing.delete(source) && failing.size === 0) recovered?.();
    } catch (error) {
      if (failing.has(source)) return;
      failing.add(source);
      failed(error);
    }
  }

  function leave(): void {
    if (--watchers > 0) return;
    leaving = setTimeout(() => stop(), linger).unref();
  }

  function stop(): void {
    for (const look of looks) clearInterval(look);
    looks = [];
    begun = undefined;
    for (const source of sources) source.reset();
    rows.pause();
  }

  return {
    enter,
    [Symbol.dispose]: (): void => {
      clearTimeout(leaving);
      stop();
    },
  };
}
