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

export type FirstStarts = ReturnType<typeof firstStarts>;

/**
 * Plugins whose offer is not known yet. A list waits for each of them for a short time after its first
 * start, a call only for those that might have its tool: a plugin that never becomes ready does not
 * delay calls of others.
 */
export function firstStarts({ plugins, manifestOf, patience }: FirstStartsOptions) {
  /** To be awaited before a list; undefined when there is nothing to wait for. */
  const known = (): Promise<void> | undefined => {
    const now = performance.now();
    const waits = plugins()
      .filter((plugin) => plugin.offer === undefined && plugin.state === "starting")
      .map((plugin) => [plugin, patience - (now - (plugin.firstStart ?? now))] as const)
      .filter(([, left]) => left > 0);
    if (waits.length === 0) return undefined;
    const longest = Math.max(...waits.map(([, left]) => left));
    const started = Promise.allSettled(waits.map(([plugin]) => plugin.start()));
    return atMost(longest, started).then(() => {});
  };
  /** Plugins that may turn out to have a tool of that name. */
  const mayHave = (tool: string): readonly StartedPlugin[] =>
    plugins().filter(({ id, offer }) => {
      return offer === undefined && (manifestOf(id)?.providesTools.includes(tool) ?? true);
    });
  /** Waits until `has` says that the tool is there, none of them is being started, or time is up. */
  const tool = async (name: string, has: () => boolean): Promise<void> => {
    const until = performance.now() + patience;
    for (;;) {
      const starting = mayHave(name).filter(({ state }) => state === "starting");
      const left = until - performance.now();
      if (left <= 0 || has() || starting.length === 0) return;
      await atMost(left, Promise.race(starting.map((plugin) => plugin.start().catch(() => {}))));
    }
  };
  return { known, mayHave, tool };
}
