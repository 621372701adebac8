import { TrunklineError } from "../../base/errors.ts";
import type { Attached, Ended } from "../../protocol/acp/attach.ts";

/** Resolves when the turn ends; rejects if the connection is lost. */
export async function withLoss(
  session: Pick<Attached, "ended">,
  turn: Promise<Ended>,
): Promise<Ended> {
  const lost = session.ended.then((): never => {
    throw new TrunklineError("closed", "The connection was closed. The session is stored.");
  });
  return Promise.race([turn, lost]);
}
