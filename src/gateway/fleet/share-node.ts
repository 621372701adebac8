import { SharedAudit } from "../../fleet/shared/shared-audit.ts";
import { SharedState } from "../../fleet/shared/shared-state.ts";
import { openSharedStores } from "../../fleet/shared/shared-stores.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import type { House } from "../house.ts";
import type { Fleet } from "./fleet.ts";
import { SharedTools } from "./shared-tools.ts";

/** What a node has in common with the others of its pool, beside sessions. */
export interface SharedParts extends AsyncDisposable {
  readonly state: SharedState;
  readonly audit: SharedAudit;
  readonly tools: SharedTools;
}

/** Shares tokens, rules, reviews, the audit and the tools of a node with the others of its pool. */
export async function shareNode(
  house: House,
  fleet: Fleet,
  { role, offer }: { readonly role: "gateway" | "worker"; readonly offer: Offer },
): Promise<SharedParts> {
  const { data } = house.config;
  const { report } = house;
  const { connection, self } = fleet;
  await using opening = new AsyncDisposableStack();
  const { kinds } = opening.use(await openSharedStores(data, role));
  const state = opening.use(await SharedState.open({ connection, data, kinds, report }));
  const audit = opening.use(await SharedAudit.open({ connection, name: self.name, data, report }));
  const tools = opening.use(new SharedTools({ house, offer, fleet }));
  const shared = opening.move();
  return { state, audit, tools, [Symbol.asyncDispose]: () => shared.disposeAsync() };
}
