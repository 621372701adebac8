import type { Offer } from "../../tool/offer/offer.ts";
import type { AppContext } from "../../config/app-context.ts";
import type { Fleet } from "../../fleet/open/fleet.ts";
import { shareData } from "../../fleet/open/open-shared.ts";
import { shareTools } from "../../fleet/open/shared-tools.ts";

/** Shares what is in the data folder of a node, and its tools, with the others of its pool. */
export async function shareNode(
  app: AppContext,
  fleet: Fleet,
  { role, offer }: { readonly role: "gateway" | "worker"; readonly offer: Offer },
) {
  await using opening = new AsyncDisposableStack();
  const folder = opening.use(shareData({ app, fleet, role }));
  const tools = opening.use(shareTools({ app, offer, fleet }));
  const shared = opening.move();
  return { folder, tools, [Symbol.asyncDispose]: () => shared.disposeAsync() };
}
