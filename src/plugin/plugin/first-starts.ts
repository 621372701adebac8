import { atMost } from "../../base/abort.ts";
import type { PluginManifest } from "../../protocol/bus/plugin.gen.ts";
import type { Plugin } from "./plugin.ts";

type StartedPlugin = Pick<Plugin, "id" | "offer" | "state" | "firstStart" | "start">;

export interface FirstStartsOptions {
  readonly plugins: () => readonly StartedPlugin[];
  readonly manifestOf: (id: string) => PluginManifest | undefined;
  /** Milliseconds that lists and calls wait for plugins of which nothing is known yet. */
  readonly patience: number;
}

/**
 * Plugins whose offer is not known yet. A list waits for each of them for a short time after its first
 * start, a call only for those that might have its tool: a plugin that never becomes ready does not
 * delay calls of others.
 */
export class FirstStarts {
  readonly #options: FirstStartsOptions;

  constructor(options: FirstStartsOptions) {
    this.#options = options;
  }

  /** To be awaited before a list; undefined when there is nothing to wait for. */
  known(): Promise<void> | undefined {
    const { patience } = this.#options;
    const now = performance.now();
    const waits = this.#options
      .plugins()
      .filter((plugin) => plugin.offer === undefined && plugin.state === "starting")
      .map((plugin) => [plugin, patience - (now - (plugin.firstStart ?? now))] as const)
      .filter(([, left]) => left > 0);
    if (waits.length === 0) return undefined;
    const longest = Math.max(...waits.map(([, left]) => left));
    const started = Promise.allSettled(waits.map(([plugin]) => plugin.start()));
    return atMost(longest, started).then(() => {});
  }

  /** Plugins that may turn out to have a tool of that name. */
  mayHave(tool: string): readonly StartedPlugin[] {
    return this.#options.plugins().filter(({ id, offer }) => {
      const manifest = this.#options.manifestOf(id);
      return offer === undefined && (manifest?.providesTools.includes(tool) ?? true);
    });
  }

  /** Waits until `has` says that the tool is there, none of them is being started, or time is up. */
  async tool(name: string, has: () => boolean): Promise<void> {
    const until = performance.now() + this.#options.patience;
    for (;;) {
      const starting = this.mayHave(name).filter(({ state }) => state === "starting");
      const left = until - performance.now();
      if (left <= 0 || has() || starting.length === 0) return;
      const starts = starting.map((plugin) => plugin.start().catch(() => {}));
      await atMost(left, Promise.race(starts));
    }
  }
}
