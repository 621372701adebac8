import { MESSAGE_LIMITS, type MessageLimits } from "../../src/base/limit/limits.ts";
import { configKeys } from "../../src/gateway/config/schema/keys.ts";
import { ALL_CODES } from "../../src/rpc/codes.ts";
import { type Block, table } from "./doc-blocks.ts";

/** Who the codes of a domain belong to. */
const DOMAINS: Readonly<Record<keyof typeof ALL_CODES, string>> = {
  STANDARD: "JSON-RPC",
  ACP: "ACP",
  MCP: "MCP",
  JUGGLER: "RemoteJuggler",
  TRUNKLINE: "Trunkline",
};

/** What the documents have made from the code, by the name in their marks. */
export const BLOCKS: Readonly<Record<string, Block>> = {
  "error-codes": async () => errorCodes(),
  "message-limits": async () => messageLimits(MESSAGE_LIMITS),
  "config-keys": async () => configTable(),
};

function errorCodes(): string {
  const rows = Object.entries(ALL_CODES).flatMap(([domain, codes]) => {
    return Object.values(codes).map(({ code, message, meaning }) => {
      return [DOMAINS[domain as keyof typeof ALL_CODES], `\`${code}\``, message, meaning];
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
  return milliseconds % 1000 === 0 ? `${milliseconds / 1000} s` : `${milliseconds} ms`;
}
