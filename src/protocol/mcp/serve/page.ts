import { STANDARD } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";

const PAGE = 1000;

/** One page of a list, and where the next one begins. */
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
