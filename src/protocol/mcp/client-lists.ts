import { STANDARD } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { isObject, type JsonObject } from "./client.ts";

/** A server that never stops turning pages is not listened to for ever. */
const MOST_PAGES = 200;
const MOST_ITEMS = 20_000;

/** All entries of a list that comes in pages. Entries that are no objects are left out. */
export async function allPages(
  ask: (params: JsonObject) => Promise<JsonObject>,
  member: string,
): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  const cursors = new Set<string>();
  let params: JsonObject = {};
  for (let page = 0; page < MOST_PAGES && items.length < MOST_ITEMS; page++) {
    const result = await ask(params);
    const list = result[member];
    if (!Array.isArray(list)) {
      throw RpcError.of(STANDARD.internal, `the server's list has no array '${member}'`);
    }
    items.push(...list.filter(isObject));
    const { nextCursor } = result;
    if (typeof nextCursor !== "string" || cursors.has(nextCursor)) break;
    cursors.add(nextCursor);
    params = { cursor: nextCursor };
  }
  return items.slice(0, MOST_ITEMS);
}
