import type { HeldId } from "../../../rpc/message/id.ts";
import type { JsonObject } from "../json-object.ts";
import { isPlainMeta } from "../meta.ts";

const ID = String.raw`(0|[1-9]\d{0,14}|"[\w.:#-]{1,64}")`;
const CALL = String.raw`"method":"tools/call","params":\{"name":"([\w.-]{1,128})","arguments":(\{.*\})\}`;

/** Longer messages are parsed, after their cost is estimated. */
export const LONGEST_CALL_TEXT = 8 * 1024;

/**
 * A call of a tool that has a name and arguments and nothing else, spelt exactly as libraries spell it:
 * as most write a request (id, name, arguments), and as the official ones do (name, arguments, id). If
 * the arguments are one JSON value, the message is valid JSON and has every member once. The same if
 * they end with `_meta`, and the parts before and after that are one JSON value each.
 */
export const ID_FIRST = new RegExp(String.raw`^\{"jsonrpc":"2\.0","id":${ID},${CALL}\}$`);
export const ID_LAST = new RegExp(String.raw`^\{${CALL},"jsonrpc":"2\.0","id":${ID}\}$`);

/** An id as it is held in flight, from its text. */
export function heldId(id: HeldId): HeldId {
  return typeof id === "number" || id.startsWith('"') ? id : Number(id);
}

/** What stands between arguments and a `_meta` that follows them, whose brace it ends with. */
const BEFORE_META = ',"_meta":{';

export interface CallParts {
  /** The arguments, as they came. */
  readonly json: string;
  readonly args: unknown;
  readonly meta: JsonObject | undefined;
}

/** Reads what was matched as arguments. Undefined where it is not JSON, or `_meta` needs more than a lane. */
export function callParts(matched: string): CallParts | undefined {
  try {
    // Where arguments have a member of that name, the part before it is no JSON.
    const at = matched.indexOf(BEFORE_META);
    if (at < 0) return { json: matched, args: JSON.parse(matched), meta: undefined };
    const json = matched.slice(0, at);
    const args: unknown = JSON.parse(json);
    const meta: unknown = JSON.parse(matched.slice(at + BEFORE_META.length - 1));
    return isPlainMeta(meta) ? { json, args, meta } : undefined;
  } catch {
    return undefined;
  }
}
