import type { LogLevel } from "../../../base/log.ts";

/** What a server tells without being asked, for all of its callers. */
export interface McpClientEvents {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
  /** A message for people that belongs to no call. */
  logged(level: LogLevel, data: unknown, logger: string | undefined): void;
}

export const NO_EVENTS: McpClientEvents = {
  toolsChanged() {},
  promptsChanged() {},
  resourcesChanged() {},
  resourceUpdated() {},
  logged() {},
};
