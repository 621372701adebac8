import { method } from "../../rpc/method.ts";
import { checkInitializeParams, type InitializeParams } from "./schema.gen.ts";

export interface InitializeResult {
  readonly protocolVersion: number;
  readonly agentCapabilities: { readonly loadSession: boolean };
  readonly agentInfo: { readonly name: string; readonly version: string };
  readonly authMethods: readonly never[];
}

export const initialize = method<InitializeParams, InitializeResult>("initialize", {
  check: checkInitializeParams,
});
