import { background } from "../base/background.ts";
import type { Log } from "../base/log.ts";
import type { Config } from "./config.ts";
import { watchFiles } from "./watch-files.ts";

/** The parts of a configuration that are applied while the program runs. */
export type LiveConfig = Pick<Config, "mcpServers" | "bus" | "policy" | "profiles">;

/** How the configuration is read again when one of its files changes. */
export interface Reloading<C = LiveConfig> {
  /** The files to watch, whether they are there yet or not. */
  readonly files: readonly string[];
  load(): Promise<C>;
}

export type Apply<C> = (config: C) => void | Promise<void>;

const followers = new WeakMap<object, object>();

/**
 * Has a part of the program apply each change of the configuration. The files are watched and read
 * once for all parts. No part waits for another: one may have to end what was removed. A change is
 * only said to be applied when all of them have. Returns how to stop it.
 */
export function followConfig<C>(
  reloading: Reloading<C> | undefined,
  log: Log,
  apply: Apply<C>,
): () => void {
  if (reloading === undefined) return () => {};
  const known = followers.get(reloading) as Follow<C> | undefined;
  const follow = known ?? follower(reloading, log);
  followers.set(reloading, follow);
  return follow(apply);
}

type Follow<C> = (apply: Apply<C>) => () => void;

function follower<C>(reloading: Reloading<C>, log: Log): Follow<C> {
  const parts = new Set<Apply<C>>();
  const changes = new ConfigChanges(reloading, log, parts);
  let stop: (() => void) | undefined;
  return (apply) => {
    parts.add(apply);
    stop ??= watchFiles(reloading.files, () => changes.read());
    return () => {
      parts.delete(apply);
      if (parts.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}

/** Reads a changed configuration, and has the parts of the program apply it. */
class ConfigChanges<C> {
  readonly #reloading: Reloading<C>;
  readonly #log: Log;
  readonly #follow: ReadonlySet<Apply<C>>;
  readonly #parts = new WeakMap<Apply<C>, Part<C>>();
  /** The files are read one time after the other. */
  #reading: Promise<void> = Promise.resolve();
  /** They will be read, with all changes up to then. */
  #isNext = false;
  #reads = 0;

  /** `follow` are the parts that follow it now. */
  constructor(reloading: Reloading<C>, log: Log, follow: ReadonlySet<Apply<C>>) {
    this.#reloading = reloading;
    this.#log = log;
    this.#follow = follow;
  }

  /** The files have changed. */
  read(): void {
    if (this.#isNext) return;
    this.#isNext = true;
    this.#reading = this.#reading.then(() => this.#read());
  }

  async #read(): Promise<void> {
    this.#isNext = false;
    try {
      const config = await this.#reloading.load();
      const applied = [...this.#follow].map((apply) => this.#partOf(apply).apply(config));
      background(this.#tell(++this.#reads, applied), "Applying the configuration");
    } catch (error) {
      // A file that is being edited may be wrong for a moment: the last valid configuration stays.
      this.#log.warn("config.not-reloaded", { error });
    }
  }

  async #tell(read: number, applied: readonly Promise<void>[]): Promise<void> {
    const outcomes = await Promise.allSettled(applied);
    // Of changes that are applied together, the last one is told.
    if (read !== this.#reads) return;
    const failed = outcomes.find((outcome) => outcome.status === "rejected");
    if (failed === undefined) this.#log.info("config.reloaded");
    else this.#log.warn("config.not-reloaded", { error: failed.reason });
  }

  #partOf(apply: Apply<C>): Part<C> {
    const part =
      this.#parts.get(apply) ??
      new Part<C>(async (config) => {
        if (this.#follow.has(apply)) await apply(config);
      });
    this.#parts.set(apply, part);
    return part;
  }
}

/** A part of the program, which applies one configuration after the other, and no outdated one. */
class Part<C> {
  readonly #apply: (config: C) => Promise<void>;
  #last: Promise<void> = Promise.resolve();
  /** Has not begun yet, and will apply the newest configuration there is then. */
  #next: Promise<void> | undefined;
  #newest: C | undefined;

  constructor(apply: (config: C) => Promise<void>) {
    this.#apply = apply;
  }

  apply(config: C): Promise<void> {
    this.#newest = config;
    this.#next ??= this.#last
      .catch(() => {})
      .then(() => {
        this.#next = undefined;
        return this.#apply(this.#newest as C);
      });
    this.#last = this.#next;
    return this.#next;
  }
}
