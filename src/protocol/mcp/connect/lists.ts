import { TRUNKLINE } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { INSTRUCTIONS_NAME, SKILL_PREFIX } from "../../../tool/offer/server-instructions.ts";

/** Bounds for a server whose list never ends. */
const MOST_PAGES = 200;
const MOST_ITEMS = 20_000;
/** Characters of the whole list, as it comes. */
export const LARGEST_LIST = 32 * 1024 * 1024;

/** Says what was left out of a list. */
export type OmissionReport = (why: string, count?: number) => void;

/** All entries of a list that comes in pages. Entries that are no objects are left out. */
export async function allPages(
  ask: (params: JsonObject) => Promise<JsonObject>,
  member: string,
  leftOut: OmissionReport = () => {},
): Promise<JsonObject[]> {
  const items: JsonObject[] = [];
  const cursors = new Set<string>();
  let size = 0;
  let params: JsonObject = {};
  for (let page = 1; ; page++) {
    const result = await ask(params);
    const list: unknown = result[member];
    if (!Array.isArray(list)) {
      throw RpcError.of(TRUNKLINE.badAnswer, `the server's list has no array '${member}'`);
    }
    for (const item of list) if (isObject(item)) items.push(item);
    // MCP 2025-11-25, server/utilities/pagination § Response Format: no cursor on the last page.
    const { nextCursor } = result;
    if (items.length > MOST_ITEMS) leftOut("too many entries", items.length - MOST_ITEMS);
    if (typeof nextCursor !== "string" || cursors.has(nextCursor)) break;
    cursors.add(nextCursor);
    params = { cursor: nextCursor };
    size += JSON.stringify(list).length;
    if (items.length >= MOST_ITEMS || page >= MOST_PAGES || size > LARGEST_LIST) {
      leftOut("too many pages");
      break;
    }
  }
  return items.slice(0, MOST_ITEMS);
}

/** Control characters, invisible marks, lone surrogates: people cannot tell such names apart. */
const UNREADABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

/** The entries whose names people can read and tell apart. */
export function withReadableNames(
  entries: readonly JsonObject[],
  leftOut: OmissionReport = () => {},
): JsonObject[] {
  const readable = entries.filter(({ name }) => {
    if (typeof name !== "string" || name === "" || UNREADABLE.test(name)) return false;
    // A tool of that name would share the approval of the server's instructions, or of a skill.
    return name !== INSTRUCTIONS_NAME && !name.startsWith(SKILL_PREFIX);
  });
  const count = entries.length - readable.length;
  if (count > 0) leftOut("unreadable names", count);
  return readable;
}
