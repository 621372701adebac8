import { type FSWatcher, statSync, watch } from "node:fs";
import { basename, dirname, join } from "node:path";

import { attempt } from "../../base/attempt.ts";
import { background } from "../../base/background.ts";
import { watchFolder } from "../../base/file/watch-folder.ts";
import { Log } from "../../base/log.ts";
import { counted } from "../../base/text/counted.ts";
import { openRunFolder } from "../plugin/plugin-folder.ts";
import type { PluginSettings } from "../plugin/settings.ts";
import { Offer } from "../../tool/offer/offer.ts";
import type { Config } from "../../config/config.ts";
import { busFolder, busPlan, openBus } from "./bus.ts";

export interface DevPluginOptions {
  readonly config: Pick<Config, "bus" | "data">;
  readonly plugin: PluginSettings;
  /** How to run it after its files have changed: it may declare other permissions. */
  readonly again?: () => Promise<PluginSettings>;
  /** The folder whose changes restart it. */
  readonly folder: string;
  /** Prints the output of the plugin, and its state. */
  readonly tell: (line: string) => void;
}

/** Milliseconds without a further change: an editor writes several times. */
const QUIET = 100;
const DAY = 24 * 3_600_000;
/** A plugin that failed is started again only after a change: until then it would repeat its errors. */
const UNTIL_CHANGED = { firstWait: DAY, longestWait: DAY, mostFailures: Infinity, rest: DAY };
/** Files that change although nobody has changed the plugin. */
const IGNORED = /(?:^|[\\/])(?:node_modules|\.[^\\/]*)(?:[\\/]|$)/;

/** Runs a plugin on a bus of its own, and starts it again whenever its files change. */
export async function devPlugin(options: DevPluginOptions): Promise<AsyncDisposable> {
  const { config, plugin, again, folder, tell } = options;
  await using opening = new AsyncDisposableStack();
  // With the key of an authority: if we are killed, the next bus removes it.
  const own = opening.use(await openRunFolder(busFolder(config.data)));
  const log = new Log("info", (line) => tellOf(line, tell));
  const plan = {
    ...busPlan(config),
    ...{ plugins: [plugin], listen: "localhost:0", certsDir: join(own.path, "certs") },
  };
  const opened = { offer: new Offer(), log, data: config.data, retries: UNTIL_CHANGED };
  const bus = opening.use(await openBus(plan, opened));
  let present = plugin;
  let changes = 0;
  const restart = async (): Promise<void> => {
    tell("changed: it is started again");
    const change = ++changes;
    const before = present;
    // If its manifest cannot be read, it cannot be started either, and the bus says why.
    const next = (await again?.().catch(() => before)) ?? before;
    // A later change may have been handled first.
    if (change !== changes) return;
    present = next;
    if (JSON.stringify(present) !== JSON.stringify(before)) {
      await bus.configure([present]);
      return;
    }
    const started = bus.plugin(present.id).restart();
    await started.catch(() => {});
  };
  const watcher = watchTree(folder, () => background(restart(), "Restarting a plugin"));
  opening.defer(() => watcher.close());
  const open = opening.move();
  return { [Symbol.asyncDispose]: () => open.disposeAsync() };
}

/** Calls back after anything in a folder has changed, also once another folder has taken its place. */
function watchTree(folder: string, changed: () => void): Pick<FSWatcher, "close"> {
  let timer: NodeJS.Timeout | undefined;
  const settle = (): void => {
    clearTimeout(timer);
    timer = setTimeout(changed, QUIET);
  };
  let watched = watchInside(folder, settle);
  const stop = watchFolder(dirname(folder), (name) => {
    if (name !== undefined && name !== basename(folder)) return;
    if (watched.inode === inodeOf(folder)) return;
    watched.close();
    watched = watchInside(folder, settle);
    if (watched.inode !== undefined) settle();
  });
  return {
    close: () => {
      stop();
      clearTimeout(timer);
      watched.close();
    },
  };
}

interface WatchedFolder {
  /** Undefined where it cannot be watched: it may be gone. */
  readonly inode: bigint | undefined;
  close(): void;
}

function watchInside(folder: string, changed: () => void): WatchedFolder {
  const inode = inodeOf(folder);
  const heard = (_: string, file: string | null): void => {
    if (file !== null && !IGNORED.test(file)) changed();
  };
  const watcher = attempt(() => watch(folder, { recursive: true }, heard));
  if (watcher === undefined) return { inode: undefined, close: () => {} };
  // The folder was removed.
  watcher.on("error", () => {});
  return { inode, close: () => watcher.close() };
}

function inodeOf(folder: string): bigint | undefined {
  return statSync(folder, { bigint: true, throwIfNoEntry: false })?.ino;
}

interface LogLine {
  readonly event: string;
  readonly line?: string;
  readonly tools?: number;
  readonly why?: string;
}

/** Prints a line of the log of the bus for the author of a plugin. */
function tellOf(text: string, tell: (line: string) => void): void {
  const { event, line = "", tools = 0, why } = JSON.parse(text) as LogLine;
  if (event === "plugin.said") tell(line);
  else if (event === "plugin.up") tell(`up, with ${counted(tools, "tool")}`);
  else if (event === "plugin.down") tell(`down: ${why}. A change of its files starts it again`);
  else if (why !== undefined) tell(`${event.replace("plugin.", "")}: ${why}`);
}
