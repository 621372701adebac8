import type { LogLevel } from "../../base/log.ts";
import type { MessageDetails } from "../../tool/tool.ts";

/** MCP, server/utilities/logging § Log Levels: those of RFC 5424, from the least to the most serious. */
export const LOG_LEVELS = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
] as const;

export type McpLogLevel = (typeof LOG_LEVELS)[number];

/** Our levels in the protocol's words. */
const MCP_LEVELS: Readonly<Record<LogLevel, McpLogLevel>> = {
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
};

const OURS: ReadonlyMap<unknown, LogLevel> = new Map([
  ["debug", "debug"],
  ["info", "info"],
  ["notice", "info"],
  ["warning", "warn"],
]);

/** The protocol's levels in our words: what is more serious than a warning is an error. */
export function levelOf(level: unknown): LogLevel {
  return OURS.get(level) ?? "error";
}

export function isLogLevel(value: unknown): value is McpLogLevel {
  return (LOG_LEVELS as readonly unknown[]).includes(value);
}

/** Whether a client that wants messages from level `least` on wants this one. Without a level: none. */
export function isWanted(level: McpLogLevel, least: McpLogLevel | undefined): boolean {
  if (least === undefined) return false;
  return LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}

/** The level of a message as its server gave it, or else ours. */
export function toldLevel(level: LogLevel, more?: MessageDetails): McpLogLevel {
  return isLogLevel(more?.level) ? more.level : MCP_LEVELS[level];
}
