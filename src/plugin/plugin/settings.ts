import type { BackoffLimits } from "../../base/limit/backoff.ts";

import type { PluginEntry } from "../../protocol/bus/plugins-file/plugins-file.ts";
import type { PluginPin } from "../../config/schema/schema.gen.ts";
import type { PluginPermissions } from "./permissions.ts";

/** One configured plugin. */
export interface PluginSettings extends Omit<PluginEntry, "enabled"> {
  /** What it may do, as approved. Without them nobody was asked, and it may do everything. */
  readonly permissions?: PluginPermissions;
  /** The file with its code, if that is not the program itself. */
  readonly code?: string;
  /** Our own program, where that wraps an MCP server. */
  readonly wrapper?: string;
  /** The code that was approved; any where it is left out. */
  readonly pin?: PluginPin;
  /** Limits of its own, instead of those of the bus. */
  readonly limits?: Partial<CallLimits>;
}

/** How many calls of clients a plugin gets, and for how long they wait for it. */
export interface CallLimits {
  /** Milliseconds for its answer to a call, or the next piece of it. */
  readonly call: number;
  /** Calls of clients that it answers at once; more wait. */
  readonly calls: number;
  /** Calls of clients that wait for that; more are refused. */
  readonly queue: number;
}

/** Fills in the settings that are left out. */
export function pluginSettings(
  given: Pick<PluginSettings, "id" | "binary"> & Partial<PluginSettings>,
): PluginSettings {
  const none = { args: [], providesStorage: [], providesAi: [], dependsOn: [] };
  return { ...none, env: {}, config: {}, ...given };
}

/** Retries and timeouts of one plugin, in milliseconds. */
export interface PluginLimits extends BackoffLimits, CallLimits {
  /** From its start to its READY line. */
  readonly ready: number;
  /** For each request of the handshake. */
  readonly handshake: number;
  /** Between two health checks, and for each. */
  readonly healthEvery: number;
  readonly health: number;
  /** Failed health checks in a row after which it is restarted. */
  readonly mostUnhealthy: number;
  /** Calls of plugins that it answers at once; more are refused. */
  readonly nestedCalls: number;
  /** For its own end, before it is ended. */
  readonly shutdown: number;
}

export const DEFAULT_PLUGIN_LIMITS: PluginLimits = {
  firstWait: 500,
  longestWait: 30_000,
  mostFailures: 5,
  rest: 30_000,
  ready: 10_000,
  handshake: 10_000,
  healthEvery: 15_000,
  health: 5_000,
  mostUnhealthy: 3,
  call: 600_000,
  calls: 128,
  queue: 2_048,
  nestedCalls: 2_048,
  shutdown: 5_000,
};
