import { type LimitEntry, LIMIT_TABLE } from "../../src/base/limit/limit-table.ts";
import { DEFAULT_LIMITS, MESSAGE_LIMITS, type MessageLimits } from "../../src/base/limit/limits.ts";
import { configKeys } from "./config-keys.ts";
import { type Block, table } from "./doc-blocks.ts";
import { ALL_CODES, MEANINGS } from "./error-codes.ts";
import type { FixedLimit } from "./fixed-limit.ts";
import { FIXED_LIMITS } from "./fixed-limits.ts";

/** Names of the domains of error codes. */
const DOMAINS: Readonly<Record<keyof typeof ALL_CODES, string>> = {
  STANDARD: "JSON-RPC",
  ACP: "ACP",
  MCP: "MCP",
  JUGGLER: "RemoteJuggler",
  TRUNKLINE: "Trunkline",
};

/** The generated blocks of the documents, by the name in their markers. */
export const BLOCKS: Readonly<Record<string, Block>> = {
  "error-codes": async () => errorCodes(),
  "message-limits": async () => messageLimits(MESSAGE_LIMITS),
  "configurable-limits": async () => configurableLimits(),
  "part-limits": async () => partLimits(PART_LIMITS),
  "fixed-limits": async () => fixedLimits(FIXED_LIMITS),
  "config-keys": async () => configTable(),
};

function errorCodes(): string {
  const domains = Object.keys(ALL_CODES) as (keyof typeof ALL_CODES)[];
  const rows = domains.flatMap((domain) => {
    const meanings: Readonly<Record<string, string>> = MEANINGS[domain];
    return Object.entries(ALL_CODES[domain]).map(([name, { code, message }]) => {
      return [DOMAINS[domain], `\`${code}\``, message, meanings[name] ?? ""];
    });
  });
  return table(["domain", "code", "message", "meaning"], rows);
}

export function messageLimits(limits: Readonly<Record<string, MessageLimits>>): string {
  const rows = Object.entries(limits).map(([method, { maxSize, rate, timeout, retry }]) => [
    `\`${method}\``,
    maxSize === undefined ? "–" : size(maxSize),
    rate === undefined ? "–" : `${rate.limit} in ${duration(rate.windowMs)}`,
    timeout === undefined ? "–" : duration(timeout),
    retry === undefined ? "–" : retry ? "yes" : "no",
  ]);
  return table(["message", "size", "rate", "timeout", "retry"], rows);
}

function configurableLimits(): string {
  const rows = Object.entries(DEFAULT_LIMITS).map(([key, value]) => {
    const { unit, bounds, beyond } = LIMIT_TABLE[key as keyof typeof DEFAULT_LIMITS];
    return [`\`limits.${key}\``, amount(unit, value), bounds, beyond];
  });
  return table(["key", "default", "bounds", "beyond it"], rows);
}

/** Keys of other parts of the configuration that are limits. */
const PART_LIMITS = [
  "models.maxSteps",
  "models.toolTimeout",
  "bus.callTimeout",
  "review.batch",
  "review.lease",
  "remote.turns.running",
  "remote.turns.runningEach",
  "remote.turns.waitingEach",
  "remote.bases",
  "remote.scan.maxFile",
  "remote.scan.maxTotal",
  "remote.scan.maxFiles",
];

function partLimits(paths: readonly string[]): string {
  const keys = new Map(configKeys().map((key) => [key.path, key]));
  const rows = paths.map((path) => {
    const key = keys.get(path);
    if (key === undefined) throw new Error(`No key of the configuration is called '${path}'`);
    return [`\`${path}\``, key.fallback ?? "–", key.description];
  });
  return table(["key", "default", "bounds"], rows);
}

function fixedLimits(limits: readonly FixedLimit[]): string {
  const rows = limits.map(({ part, what, unit, value, beyond, folder, file, constant }) => [
    part,
    what,
    amount(unit, value),
    beyond,
    `\`${constant}\` in \`${file}\` of \`${folder}/\``,
  ]);
  return table(["part", "limit", "value", "beyond it", "set by"], rows);
}

function amount(unit: LimitEntry["unit"] | FixedLimit["unit"], value: number): string {
  if (unit === "bytes") return size(value);
  if (unit === "milliseconds") return duration(value);
  return value.toLocaleString("en");
}

function configTable(): string {
  const rows = configKeys().map(({ path, type, fallback, variable, description }) => [
    `\`${path}\``,
    type,
    fallback === undefined ? "–" : `\`${fallback}\``,
    variable === undefined ? "–" : `\`${variable}\``,
    description,
  ]);
  return table(["key", "value", "default", "environment", "meaning"], rows);
}

function size(bytes: number): string {
  if (bytes % (1024 * 1024) === 0) return `${bytes / (1024 * 1024)} MiB`;
  if (bytes % 1_000_000 === 0) return `${bytes / 1_000_000} MB`;
  if (bytes % 1024 === 0) return `${bytes / 1024} KiB`;
  return bytes % 1000 === 0 ? `${bytes / 1000} KB` : `${bytes} bytes`;
}

function duration(milliseconds: number): string {
  const minutes = milliseconds / 60_000;
  if (minutes >= 60 && minutes % 60 === 0) return `${minutes / 60} h`;
  if (minutes > 5 && Number.isInteger(minutes)) return `${minutes} min`;
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000} s` : `${milliseconds} ms`;
}
