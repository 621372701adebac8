import type { Principal } from "../../../base/principal.ts";
import { STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { Offer } from "../../../tool/offer/offer.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import { MISSING_META } from "../../../tool/offer/tool-sources.ts";
import type { JsonObject } from "../json-object.ts";
import type { Caching } from "../revision/codec.ts";

const PAGE = 1000;

/** For lists that change without notice: they may not be cached. */
export const UNCACHED: Caching = { ttlMs: 0, cacheScope: "private" };

/**
 * One page of a list, and the cursor of the next one. MCP, server/utilities/pagination § Error
 * Handling: a cursor that is not valid is refused with -32602.
 */
export function pageOf<T>(
  items: readonly T[],
  cursor: string | undefined,
): { readonly page: readonly T[]; readonly next: { readonly nextCursor?: string } } {
  const from = cursor === undefined ? 0 : Number(cursor);
  if (!Number.isSafeInteger(from) || from < 0 || from > items.length) {
    throw RpcError.of(STANDARD.invalidParams, `'params.cursor' is not one of ours`);
  }
  if (from === 0 && items.length <= PAGE) return { page: items, next: {} };
  const to = from + PAGE;
  return {
    page: items.slice(from, to),
    next: to < items.length ? { nextCursor: String(to) } : {},
  };
}

/** The part of a list's result that names servers and plugins which have not been heard yet. */
export function missingSources(
  offer: Pick<Offer, "missing">,
  profile: Profile | undefined,
  principal: Principal,
): JsonObject {
  const missing = offer.missing(profile, principal).map(({ why }) => why);
  return missing.length === 0 ? {} : { _meta: { [MISSING_META]: missing } };
}
