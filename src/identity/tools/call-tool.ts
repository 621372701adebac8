import { TrunklineError } from "../../base/errors.ts";
import { type Arguments, errorResult, type ToolResult } from "../../tool/tool.ts";
import type { JugglerToolName } from "./definitions.ts";
import { faultResult, JugglerFault } from "./fault.ts";
import { debugSsh, setup } from "./setup-tools.ts";
import {
  clearToken,
  detectIdentityTool,
  getToken,
  gpgStatus,
  listIdentities,
  securityMode,
  showConfig,
  statusTool,
  storeToken,
  switchIdentity,
  syncConfig,
  validateTool,
  verifyToken,
  type ToolCommands,
} from "./switch-tools.ts";

/** `folder` is the project's folder. */
type Handler = (
  args: Arguments,
  commands: ToolCommands,
  folder: string | undefined,
) => Promise<ToolResult>;

const HANDLERS: Readonly<Record<JugglerToolName, Handler>> = {
  juggler_list_identities: listIdentities,
  juggler_detect_identity: inProject(detectIdentityTool),
  juggler_switch: inProject(switchIdentity),
  juggler_status: inProject(statusTool),
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

/** Calls one of RemoteJuggler's tools. A failure is a result with RemoteJuggler's text. */
export async function callJugglerTool(
  name: JugglerToolName,
  args: Arguments,
  folder: string | undefined,
  open: () => Promise<ToolCommands>,
): Promise<ToolResult> {
  try {
    const commands = await open();
    if (typeof args.identity === "string") checkKnown(args.identity, commands);
    return await HANDLERS[name](args, commands, folder);
  } catch (error) {
    if (error instanceof JugglerFault) return faultResult(error);
    if (!(error instanceof TrunklineError)) throw error;
    if (error.code === "config") return faultResult(new JugglerFault("config", error.message));
    return errorResult(`Error: ${error.message}`);
  }
}

/** The toolbox refuses calls that need a project and have none. */
function inProject(
  handle: (args: Arguments, commands: ToolCommands, folder: string) => Promise<ToolResult>,
): Handler {
  return async (args, commands, folder) => {
    if (folder === undefined) throw new Error("A tool that works on a project was given none");
    return handle(args, commands, folder);
  };
}

function checkKnown(name: string, { identities }: ToolCommands): void {
  const configured = identities.list.map((identity) => identity.name);
  if (configured.includes(name)) return;
  try {
    identities.find(name);
  } catch (error) {
    const { message } = error as Error;
    throw new JugglerFault("identity-not-found", message, { identity: name, configured });
  }
}
