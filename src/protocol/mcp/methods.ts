import { method } from "../../rpc/method.ts";
import type { Revision } from "./revision.ts";
import { checkInitializeParams, type InitializeParams } from "./schema.gen.ts";

export interface InitializeResult {
  readonly protocolVersion: Revision;
  readonly capabilities: { readonly tools: Readonly<Record<string, never>> };
  readonly serverInfo: { readonly name: string; readonly version: string };
}

export const initialize = method<InitializeParams, InitializeResult>("initialize", {
  check: checkInitializeParams,
});

export const ping = method<unknown, Readonly<Record<string, never>>>("ping");

export const listTools = method<unknown, { readonly tools: readonly never[] }>("tools/list");
