import type { McpServer } from "../../session/agent.ts";
import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";

type GivenServer = Readonly<Record<string, unknown>> & { readonly name: string };

/**
 * Converts MCP servers to the form of the published ACP schema (ACP session-setup § MCP Servers):
 * `{ name, command, args, env }`, or `http` and `sse` with headers. The ACP message specification
 * § session/new has `{ type: "local", command: [program, …] }` instead.
 */
export function normaliseServers(servers: readonly GivenServer[] | null | undefined): McpServer[] {
  return (servers ?? []).map((server, index) => normalise(server, `params.mcpServers[${index}]`));
}

function normalise(server: GivenServer, at: string): McpServer {
  const { type, name } = server;
  if (type === "http" || type === "sse" || type === "remote") {
    if (typeof server.url !== "string") throw wrong(`'${at}.url' must be a string`);
    const headers = pairs(server.headers, `${at}.headers`);
    return { ...server, type: type === "sse" ? "sse" : "http", headers };
  }
  if (type !== undefined && type !== "local" && type !== "stdio") {
    throw wrong(`'${at}.type' must be one of: stdio, local, http, sse`);
  }
  const { command, args, env, environment, type: _, ...others } = server;
  const words = Array.isArray(command) ? (command as unknown[]) : [command, ...listOf(args)];
  if (words.length === 0 || !words.every((word) => typeof word === "string" && word !== "")) {
    throw wrong(`'${at}.command' must be a program, or a list of it and its arguments`);
  }
  const [program = "", ...rest] = words as string[];
  const variables = pairs(env ?? environment, `${at}.env`);
  return { ...others, name, command: program, args: rest, env: variables };
}

function listOf(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

/** `[{ name, value }]`. Some clients send an object instead. */
function pairs(value: unknown, at: string): { name: string; value: string }[] {
  if (value === undefined || value === null) return [];
  const given = Array.isArray(value)
    ? (value as { name?: unknown; value?: unknown }[])
    : Object.entries(value).map(([name, of]) => ({ name, value: of as unknown }));
  return given.map((pair, index) => {
    if (typeof pair?.name !== "string" || typeof pair.value !== "string") {
      throw wrong(`'${at}[${index}]' must have a name and a value`);
    }
    return { name: pair.name, value: pair.value };
  });
}

function wrong(what: string): RpcError {
  return RpcError.of(STANDARD.invalidParams, what);
}
