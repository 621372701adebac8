import type { Log } from "../../base/log.ts";
import { processWide } from "../../base/process-wide.ts";
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

type Apply<C> = (config: C) => void | Promise<void>;

const followers = processWide("followers", () => new WeakMap<object, object>());

/**
 * Has a part of the program apply each change of the configuration. The files are watched and read
 * once for all parts, and a change is only said to be applied when all of them have. Returns how to
 * stop it.
 */
export function followConfig<C>(
  reloading: Reloading<C> | undefined,
  log: Log,
  apply: Apply<C>,
): () => void {
  if (reloading === undefined) return () => {};
  const known = followers.get(reloading) as ConfigFollower<C> | undefined;
  const follower = known ?? new ConfigFollower(reloading, log);
  followers.set(reloading, follower);
  return follower.follow(apply);
}

class ConfigFollower<C> {
  readonly #reloading: Reloading<C>;
  readonly #log: Log;
  readonly #parts = new Set<Apply<C>>();
  #stop: (() => void) | undefined;
  /** Reloads run one after the other. */
  #applying: Promise<void> = Promise.resolve();
  /** A reload that has not begun yet, and so will read all changes up to then. */
  #isNext = false;

  constructor(reloading: Reloading<C>, log: Log) {
    this.#reloading = reloading;
    this.#log = log;
  }

  follow(apply: Apply<C>): () => void {
    this.#parts.add(apply);
    this.#stop ??= watchFiles(this.#reloading.files, () => {
      if (this.#isNext) return;
      this.#isNext = true;
      this.#applying = this.#applying.then(() => this.#reload());
    });
    return () => {
      this.#parts.delete(apply);
      if (this.#parts.size > 0) return;
      this.#stop?.();
      this.#stop = undefined;
    };
  }

  async #reload(): Promise<void> {
    this.#isNext = false;
    try {
      const config = await this.#reloading.load();
      const applied = [...this.#parts].map(async (apply) => apply(config));
      for (const outcome of await Promise.allSettled(applied)) {
        if (outcome.status === "rejected") throw outcome.reason;
      }
      this.#log.info("config.reloaded");
    } catch (error) {
      // A file that is being edited may be wrong for a moment: the last valid configuration stays.
      this.#log.warn("config.not-reloaded", { error });
    }
  }
}
