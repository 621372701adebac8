import type { Capability } from "../base/capability/capability.ts";
import type { Offer } from "../tool/offer/offer.ts";
import { type ReviewsApp, ReviewsOffer } from "./reviews-offer.ts";

/** Reviews: comments on lines of code. */
export const review: Capability<ReviewsApp, Offer> = {
  offer: (app, offer, options) => new ReviewsOffer(app, offer, options),
};
