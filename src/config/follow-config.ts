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
  const follower = followers.getOrInsertComputed(
    reloading,
    () => new ConfigFollower(reloading, log),
  );
  return (follower as ConfigFollower<C>).add(new ConfigSubscriber(apply));
}

/** Reads a changed configuration, and has the parts of the program apply it. */
class ConfigFollower<C> {
  readonly #reloading: ReloadSource<C>;
  readonly #log: Log;
  readonly #parts = new Set<ConfigSubscriber<C>>();
  #stop: (() => void) | undefined;
  /** The last read: reads do not overlap. */
  #reading: Promise<void> = Promise.resolve();
  /** Whether another read is scheduled. It sees all changes made until then. */
  #isNext = false;
  #reads = 0;

  constructor(reloading: ReloadSource<C>, log: Log) {
    this.#reloading = reloading;
    this.#log = log;
  }

  add(part: ConfigSubscriber<C>): () => void {
    this.#parts.add(part);
    this.#stop ??= watchFiles(this.#reloading.files, () => this.#changed());
    return () => {
      part.isOver = true;
      this.#parts.delete(part);
      if (this.#parts.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    };
  }

  #changed(): void {
    if (this.#isNext) return;
    this.#isNext = true;
    this.#reading = this.#reading.then(() => this.#read());
  }

  async #read(): Promise<void> {
    this.#isNext = false;
    try {
      const config = await this.#reloading.load();
      const applied = Array.from(this.#parts, (part) => part.apply(config));
      background(this.#report(++this.#reads, applied), "Applying the configuration");
    } catch (error) {
      // A file that is being edited may be wrong for a moment: the last valid configuration stays.
      this.#log.warn("config.not-reloaded", { error });
    }
  }

  async #report(read: number, applied: readonly Promise<void>[]): Promise<void> {
    const outcomes = await Promise.allSettled(applied);
    // Of changes that are applied together, only the last one is reported.
    if (read !== this.#reads) return;
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed === undefined) this.#log.info("config.reloaded");
    else this.#log.warn("config.not-reloaded", { error: failed.reason });
  }
}

/** A part of the program, which applies one configuration after the other, and no outdated one. */
class ConfigSubscriber<C> {
  isOver = false;
  readonly #apply: ConfigApplier<C>;
  #last: Promise<void> = Promise.resolve();
  /** A scheduled call, which applies the newest configuration when it begins. */
  #next: Promise<void> | undefined;
  #newest: C | undefined;

  constructor(apply: ConfigApplier<C>) {
    this.#apply = apply;
  }

  apply(config: C): Promise<void> {
    this.#newest = config;
    this.#next ??= this.#last
      .catch(() => {})
      .then(async () => {
        this.#next = undefined;
        if (!this.isOver) await this.#apply(this.#newest as C);
      });
    this.#last = this.#next;
    return this.#next;
  }
}
