import type { ApiCall } from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { moveTo } from "../../../session/open/move/other-side.ts";
import { gatewayAt, readGatewayUrl } from "../../http/gateway-url.ts";
import { goneWith, type MoveContext } from "../../http/move-routes.ts";
import type { MoveBody } from "../schema.gen.ts";

/** Moves a session of this gateway to another, as `trunkline session move --to` does. */
export async function moveSession(
  { mover, letGo }: MoveContext,
  { principal: { id: owner }, id: session, response }: ApiCall,
  { to, token, withSecrets = false, interrupts = false }: MoveBody,
): Promise<{ readonly says: readonly string[] }> {
  await mover.record(session, owner);
  const { url, warning } = readGatewayUrl(to);
  // Nobody could be told before the token and the work have been sent.
  if (warning !== undefined) throw new TrunklineError("usage", warning);
  const { folder, says } = await moveTo(mover, session, gatewayAt(url, token), {
    ...{ withSecrets, interrupts, newKey: false },
    letGo: () => letGo(session, interrupts, goneWith(response)),
  });
  const done = `It works in ${folder} there now.`;
  return { says: [done, ...says] };
}
