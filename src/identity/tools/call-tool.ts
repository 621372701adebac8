import { TrunklineError } from "../../base/errors.ts";
import { type Arguments, errorResult, textResult, type ToolResult } from "../../tool/tool.ts";
import type { JugglerToolName } from "./definitions.ts";
import { faultResult, JugglerFault } from "./fault.ts";
import { SETUP_TOOLS } from "./setup-tools.ts";
import { IDENTITY_TOOLS, type ToolCommands, type ToolHandler } from "./switch-tools.ts";

const HANDLERS: Readonly<Record<JugglerToolName, ToolHandler>> = {
  ...IDENTITY_TOOLS,
  ...SETUP_TOOLS,
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
    const lines = await HANDLERS[name](args, commands, () => {
      // The toolbox refuses calls that need a project and have none.
      if (folder === undefined) throw new Error("A tool that works on a project was given none");
      return folder;
    });
    return textResult(lines.join("\n"));
  } catch (error) {
    if (error instanceof JugglerFault) return faultResult(error);
    if (!(error instanceof TrunklineError)) throw error;
    if (error.code === "config") return faultResult(new JugglerFault("config", error.message));
    return errorResult(`Error: ${error.message}`);
  }
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
