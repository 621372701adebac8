import type { Offer } from "../../../tool/offer/offer.ts";
import { MISSING_META } from "../../../tool/offer/tool-sources.ts";
import { type Client, isModern, type JsonObject } from "./client.ts";
import { META } from "../names.ts";

/** Who answers. */
export interface ServerInfo {
  readonly name: string;
  readonly version: string;
  readonly title?: string;
}

/** How long a client may keep an answer, and who may share it. */
export interface Caching {
  readonly ttlMs: number;
  readonly cacheScope: "public" | "private";
}

/** What changes without notice may be kept by nobody. */
export const UNCACHED: Caching = { ttlMs: 0, cacheScope: "private" };

/** A result in the client's revision. Inside there is one shape: the body alone. */
export function shapeResult(
  client: Client,
  body: JsonObject,
  server: ServerInfo,
  caching?: Caching,
): JsonObject {
  if (!isModern(client)) return body;
  const meta = { ...(body._meta as JsonObject | undefined), [META.serverInfo]: server };
  return { resultType: "complete", ...caching, ...body, _meta: meta };
}

/** What a list says besides when somebody who may add to it has not been heard yet. */
export function whatIsMissing(offer: Pick<Offer, "missing">): JsonObject {
  const missing = offer.missing().map(({ why }) => why);
  return missing.length === 0 ? {} : { _meta: { [MISSING_META]: missing } };
}
