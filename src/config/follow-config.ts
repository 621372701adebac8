import { background } from "../base/background.ts";
import type { Log } from "../base/log.ts";
import type { Config } from "./config.ts";
import type { ConfigChanges } from "./config-changes.ts";
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
  let stop: (() => void) | undefined;
  let changes: Promise<ConfigChanges<C>> | undefined;
  // Most programs see no change: the code is loaded with the first.
  const changed = async (): Promise<void> => {
    changes ??= import("./config-changes.ts").then(
      (loaded) => new loaded.ConfigChanges(reloading, log, parts),
    );
    (await changes).read();
  };
  return (apply) => {
    parts.add(apply);
    stop ??= watchFiles(reloading.files, () => background(changed(), "Reading changes"));
    return () => {
      parts.delete(apply);
      if (parts.size > 0) return;
      stop?.();
      stop = undefined;
    };
  };
}
