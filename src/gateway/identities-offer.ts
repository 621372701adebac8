import { existsSync } from "node:fs";

import { JUGGLER_TOOLS, type JugglerToolName } from "../identity/tools/definitions.ts";
import type { ToolDesk } from "../identity/tools/tool-desk.ts";
import type { Offer } from "../tool/offer.ts";
import type { Arguments, ToolContext, ToolResult } from "../tool/tool.ts";
import type { House } from "./house.ts";

export interface IdentitiesOfferOptions {
  /** The folder that counts where a caller names none. */
  readonly folder?: string | undefined;
  readonly env?: NodeJS.ProcessEnv;
}

/** Milliseconds without an answer: each connection that a tool makes has a limit of its own. */
const TIMEOUT = 60_000;

/**
 * RemoteJuggler's tools as every door has them. A start pays for what they are called and no more:
 * the code comes with the first call.
 */
export function offerIdentities(
  house: House,
  offer: Offer,
  options: IdentitiesOfferOptions = {},
): void {
  for (const definition of JUGGLER_TOOLS) {
    const { name } = definition;
    offer.tools.add({
      definition,
      limits: { timeout: TIMEOUT },
      call: (args, context) => call(name, args, context, house, options),
    });
  }
}

async function call(
  name: JugglerToolName,
  args: Arguments,
  context: ToolContext,
  { config: { data }, reloading }: House,
  options: IdentitiesOfferOptions,
): Promise<ToolResult> {
  const { callJugglerTool } = await import("../identity/tools/call-tool.ts");
  const { IdentityDesk } = await import("./identity-desk.ts");
  const { loadConfig } = await import("./config/load.ts");
  const { folder = process.cwd(), env = process.env } = options;
  await using desks = new AsyncDisposableStack();
  const open = async (): Promise<ToolDesk> => {
    // The user's own comes first; as long as it is not there, nobody can have named it.
    const [file] = reloading?.files ?? [];
    const configFile = file !== undefined && existsSync(file) ? file : undefined;
    // Identities may have been added since the start.
    const { config } = await loadConfig({ cwd: folder, env, flags: { config: configFile, data } });
    const desk = desks.use(new IdentityDesk({ config, env, cwd: folder, configFile }));
    await desk.identities.recover();
    return Object.assign(desk, { reload: open });
  };
  return await callJugglerTool(name, args, context, open);
}
