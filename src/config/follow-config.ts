import { background } from "../base/background.ts";
import type { Log } from "../base/log.ts";
import type { Config } from "./config.ts";
import { watchFiles } from "./watch-files.ts";

/** The parts of a configuration that are applied while the program runs. */
export type LiveConfig = Pick<Config, "mcpServers" | "bus" | "policy" | "profiles" | "toolHooks">;

/** How the configuration is read again when one of its files changes. */
export interface ReloadSource<C = LiveConfig> {
  /** The files to watch; they need not exist. */
  readonly files: readonly string[];
  /** The arguments of `--set`. */
  readonly set?: readonly string[] | undefined;
  load(): Promise<C>;
}

export type ConfigApplier<C> = (config: C) => void | Promise<void>;

const followers = new WeakMap<object, object>();

/**
 * Has a part of the program apply each change of the configuration. The files are watched and read
 * once for all parts. No part waits for another: one may have to end what was removed. A change is
 * only said to be applied when all of them have. Returns a function that ends that.
 */
export function followConfig<C>(
  reloading: ReloadSource<C> | undefined,
  log: Log,
  apply: ConfigApplier<C>,
): () => void {
  if (reloading === undefined) return () => {};
  const follow = followers.getOrInsertComputed(reloading, () => follower(reloading, log));
  return (follow as ReturnType<typeof follower<C>>)(apply);
}

/** Reads a changed configuration, and has the parts of the program apply it. */
function follower<C>(reloading: ReloadSource<C>, log: Log) {
  const parts = new Set<ReturnType<typeof subscriber<C>>>();
  let stop: (() => void) | undefined;
  /** The last read: reads do not overlap. */
  let reading: Promise<void> = Promise.resolve();
  /** Whether another read is scheduled. It sees all changes made until then. */
  let isNext = false;
  let reads = 0;

  function changed(): void {
    if (isNext) return;
    isNext = true;
    reading = reading.then(() => read());
  }

  async function read(): Promise<void> {
    isNext = false;
    try {
      const config = await reloading.load();
      const applied = Array.from(parts, (part) => part.apply(config));
      background(tell(++reads, applied), "Applying the configuration");
    } catch (error) {
      // A file that is being edited may be wrong for a moment: the last valid configuration stays.
      log.warn("config.not-reloaded", { error });
    }
  }

  async function tell(number: number, applied: readonly Promise<void>[]): Promise<void> {
    const outcomes = await Promise.allSettled(applied);
    // Of changes that are applied together, only the last one is reported.
    if (number !== reads) return;
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed === undefined) log.info("config.reloaded");
    else log.warn("config.not-reloaded", { error: failed.reason });
  }

  return (apply: ConfigApplier<C>): (() => void) => {
    const part = subscriber(apply);
    parts.add(part);
    stop ??= watchFiles(reloading.files, changed);
    return () => {
      part.isOver = true;
      parts.delete(part);
      if (parts.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}

/** A part of the program, which applies one configuration after the other, and no outdated one. */
function subscriber<C>(apply: ConfigApplier<C>) {
  let last: Promise<void> = Promise.resolve();
  /** A scheduled call, which applies the newest configuration when it begins. */
  let next: Promise<void> | undefined;
  let newest: C | undefined;

  const part = {
    isOver: false,
    apply(config: C): Promise<void> {
      newest = config;
      next ??= last
        .catch(() => {})
        .then(async () => {
          next = undefined;
          if (!part.isOver) await apply(newest as C);
        });
      last = next;
      return next;
    },
  };
  return part;
}
