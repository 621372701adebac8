/** What a server tells without being asked, for all of its callers. */
export interface McpClientEvents {
  toolsChanged(): void;
  promptsChanged(): void;
  resourcesChanged(): void;
  resourceUpdated(uri: string): void;
  /** A message for people that belongs to no call. */
  logged(level: unknown, data: unknown, logger: unknown): void;
}

export const NO_EVENTS: McpClientEvents = {
  toolsChanged() {},
  promptsChanged() {},
  resourcesChanged() {},
  resourceUpdated() {},
  logged() {},
};
