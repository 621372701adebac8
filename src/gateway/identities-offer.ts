import { JUGGLER_TOOLS, type JugglerToolName } from "../identity/tools/definitions.ts";
import type { ToolDesk } from "../identity/tools/tool-desk.ts";
import type { Offer } from "../tool/offer.ts";
import type { Arguments, ToolContext, ToolResult } from "../tool/tool.ts";
import type { House } from "./house.ts";
import { identitiesAtHand } from "./identities-at-hand.ts";

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
  house: House,
  options: IdentitiesOfferOptions,
): Promise<ToolResult> {
  const { callJugglerTool } = await import("../identity/tools/call-tool.ts");
  const { folder = process.cwd(), env = process.env } = options;
  await using desks = new AsyncDisposableStack();
  const open = async (): Promise<ToolDesk> => {
    const desk = desks.use(await identitiesAtHand(house, folder, env));
    await desk.identities.recover();
    return Object.assign(desk, { reload: open });
  };
  return await callJugglerTool(name, args, context, open);
}
