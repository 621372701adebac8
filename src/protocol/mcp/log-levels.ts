import type { LogLevel } from "../../base/log.ts";
import { LOG_LEVELS, type McpLogLevel } from "./names.ts";

/** Our levels in the protocol's words. */
export const MCP_LEVELS: Readonly<Record<LogLevel, McpLogLevel>> = {
  debug: "debug",
  info: "info",
  warn: "warning",
  error: "error",
};

const OURS: Readonly<Record<string, LogLevel>> = {
  debug: "debug",
  info: "info",
  notice: "info",
  warning: "warn",
};

/** The protocol's levels in our words: what is more serious than a warning is an error. */
export function levelOf(level: unknown): LogLevel {
  return OURS[String(level)] ?? "error";
}

/** Whether whoever wants messages from a level on wants this one; none where there is no level. */
export function isWanted(level: LogLevel, least: McpLogLevel | undefined): boolean {
  if (least === undefined) return false;
  return LOG_LEVELS.indexOf(MCP_LEVELS[level]) >= LOG_LEVELS.indexOf(least);
}
