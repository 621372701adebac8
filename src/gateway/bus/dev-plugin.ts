import { type FSWatcher, watch } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { background } from "../../base/background.ts";
import { Log } from "../../base/log.ts";
import type { PluginSettings } from "../../plugin/plugin/settings.ts";
import { Offer } from "../../tool/offer/offer.ts";
import type { Config } from "../config/config.ts";
import { busPlan, openBus } from "./bus.ts";

export interface DevPluginOptions {
  readonly config: Pick<Config, "bus" | "data">;
  readonly plugin: PluginSettings;
  /** How to run it after its files have changed: it may declare other permissions. */
  readonly again?: () => Promise<PluginSettings>;
  /** The folder whose changes restart it. */
  readonly folder: string;
  /** Takes what the plugin says, and what becomes of it. */
  readonly tell: (line: string) => void;
}

/** Milliseconds without a further change: an editor writes several times. */
const QUIET = 100;
const DAY = 24 * 3_600_000;
/** A plugin that failed fails again until somebody changes it: to start it meanwhile repeats its errors. */
const UNTIL_CHANGED = { firstWait: DAY, longestWait: DAY, mostFailures: Infinity, rest: DAY };
/** What changes without anybody having changed the plugin. */
const IGNORED = /(?:^|[\\/])(?:node_modules|\.[^\\/]*)(?:[\\/]|$)/;

/** Runs a plugin on a bus of its own, and starts it again whenever its files change. */
export async function devPlugin(options: DevPluginOptions): Promise<AsyncDisposable> {
  const { config, plugin, again, folder, tell } = options;
  await using opening = new AsyncDisposableStack();
  const certs = await mkdtempDisposable(join(tmpdir(), "trunkline-plugin-dev-"));
  opening.defer(() => certs.remove());
  const log = new Log("info", (line) => tellOf(line, tell));
  const plan = {
    ...busPlan(config),
    ...{ plugins: [plugin], listen: "localhost:0", certsDir: certs.path },
  };
  const opened = { offer: new Offer(), log, data: config.data, retries: UNTIL_CHANGED };
  const bus = opening.use(await openBus(plan, opened));
  let present = plugin;
  const restart = async (): Promise<void> => {
    tell("changed: it is started again");
    const before = JSON.stringify(present);
    // One that cannot be asked cannot be started either, and why is told by the bus.
    present = (await again?.().catch(() => present)) ?? present;
    if (JSON.stringify(present) !== before) await bus.orchestrator.configure([present]);
    else
      await bus.orchestrator
        .plugin(plugin.id)
        .restart()
        .catch(() => {});
  };
  const watcher = watchFolder(folder, () => background(restart(), "Restarting a plugin"));
  opening.defer(() => watcher.close());
  const open = opening.move();
  return { [Symbol.asyncDispose]: () => open.disposeAsync() };
}

function watchFolder(folder: string, changed: () => void): Pick<FSWatcher, "close"> {
  let timer: NodeJS.Timeout | undefined;
  const watcher = watch(folder, { recursive: true }, (_, file) => {
    if (file === null || IGNORED.test(file)) return;
    clearTimeout(timer);
    timer = setTimeout(changed, QUIET);
  });
  // A folder that was removed changes no more.
  watcher.on("error", () => {});
  return {
    close: () => {
      clearTimeout(timer);
      watcher.close();
    },
  };
}

interface LogLine {
  readonly event: string;
  readonly line?: string;
  readonly tools?: number;
  readonly why?: string;
}

/** The log of the bus, as somebody reads it who is writing a plugin. */
function tellOf(text: string, tell: (line: string) => void): void {
  const { event, line = "", tools = 0, why } = JSON.parse(text) as LogLine;
  if (event === "plugin.said") tell(line);
  else if (event === "plugin.up") tell(`up, with ${tools === 1 ? "1 tool" : `${tools} tools`}`);
  else if (event === "plugin.down") tell(`down: ${why}. A change of its files starts it again`);
  else if (why !== undefined) tell(`${event.replace("plugin.", "")}: ${why}`);
}
