import { resolve } from "node:path";

import { TrunklineError } from "../../base/errors.ts";
import { type Arguments, errorResult, type ToolContext, type ToolResult } from "../../tool/tool.ts";
import { securityMode, showConfig, syncConfig } from "./config-tools.ts";
import type { JugglerToolName } from "./definitions.ts";
import { faultResult, JugglerFault } from "./fault.ts";
import { debugSsh, setup } from "./setup-tools.ts";
import { detectIdentityTool, listIdentities, statusTool, switchIdentity } from "./switch-tools.ts";
import {
  clearToken,
  getToken,
  gpgStatus,
  storeToken,
  validateTool,
  verifyToken,
} from "./token-tools.ts";
import type { ToolDesk } from "./tool-desk.ts";

type Handler = (args: Arguments, desk: ToolDesk, folder: string) => Promise<ToolResult>;

const HANDLERS: Readonly<Record<JugglerToolName, Handler>> = {
  juggler_list_identities: listIdentities,
  juggler_detect_identity: detectIdentityTool,
  juggler_switch: switchIdentity,
  juggler_status: statusTool,
  juggler_validate: validateTool,
  juggler_store_token: storeToken,
  juggler_sync_config: syncConfig,
  juggler_gpg_status: gpgStatus,
  juggler_token_verify: verifyToken,
  juggler_token_get: getToken,
  juggler_token_clear: clearToken,
  juggler_setup: setup,
  juggler_config_show: showConfig,
  juggler_debug_ssh: debugSsh,
  juggler_security_mode: securityMode,
};

/** Calls one of RemoteJuggler's tools. Failures are results, in its words. */
export async function callJugglerTool(
  name: JugglerToolName,
  args: Arguments,
  context: Pick<ToolContext, "folder">,
  open: () => Promise<ToolDesk>,
): Promise<ToolResult> {
  try {
    const desk = await open();
    const base = context.folder ?? desk.folder;
    const folder = typeof args.repoPath === "string" ? resolve(base, args.repoPath) : base;
    if (typeof args.identity === "string") checkKnown(args.identity, desk);
    return await HANDLERS[name](args, desk, folder);
  } catch (error) {
    if (error instanceof JugglerFault) return faultResult(error);
    if (!(error instanceof TrunklineError)) throw error;
    if (error.code === "config") return faultResult(new JugglerFault("config", error.message));
    return errorResult(`Error: ${error.message}`);
  }
}

function checkKnown(name: string, { identities }: ToolDesk): void {
  const configured = identities.list.map((identity) => identity.name);
  if (configured.includes(name)) return;
  try {
    identities.find(name);
  } catch (error) {
    const { message } = error as Error;
    throw new JugglerFault("identity-not-found", message, { identity: name, configured });
  }
}
