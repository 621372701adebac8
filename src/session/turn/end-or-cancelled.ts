import { onAbort } from "../../base/abort.ts";
import type { TurnEnd } from "../agent.ts";

/**
 * Resolves to the end of a turn. If the agent does not end it within some milliseconds after a signal, to an
 * end of our own. `counts` says whether the signal is of that kind.
 */
export async function endOrCancelled(
  ending: Promise<TurnEnd>,
  signal: AbortSignal,
  grace: number,
  counts: (signal: AbortSignal) => boolean = () => true,
): Promise<TurnEnd> {
  const late = Promise.withResolvers<TurnEnd>();
  let timer: NodeJS.Timeout | undefined;
  using ends = new DisposableStack();
  ends.defer(() => clearTimeout(timer));
  const giveUp = (): void => late.resolve({ stopReason: "cancelled" });
  ends.defer(
    onAbort(signal, () => {
      if (counts(signal)) timer = setTimeout(giveUp, grace);
    }),
  );
  return await Promise.race([ending, late.promise]);
}
