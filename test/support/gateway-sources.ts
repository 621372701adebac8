import type { DashboardSources } from "../../src/server/dashboard/sources.ts";
import { Offer } from "../../src/tool/offer/offer.ts";

/** What a gateway serves that has these tools, and neither servers nor plugins. */
export function gatewaySources(offer = new Offer()): DashboardSources {
  return {
    tools: { offer, status: () => [], restart: async () => {}, approvals: undefined },
    bus: { opened: async () => undefined },
    input: { cwd: process.cwd(), env: {}, flags: {} },
    testServer: () => Promise.reject(new Error("There are no servers here")),
  };
}
