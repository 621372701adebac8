import { background } from "../base/background.ts";
import type { Log } from "../base/log.ts";
import type { Apply, Reloading } from "./follow-config.ts";

/** Reads a changed configuration, and has the parts of the program apply it. */
export class ConfigChanges<C> {
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
