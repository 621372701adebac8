import type { Capability } from "../base/capability/capability.ts";
import type { Offer } from "../tool/offer/offer.ts";
import { type IdentitiesApp, offerIdentities } from "./identities-offer.ts";

/** Git identities. */
export const identities: Capability<IdentitiesApp, Offer> = { offer: offerIdentities };
