import { TextResult } from "../../../tool/text-result.ts";

/** RFC 8259 § 7: characters of a JSON string that are not escaped. */
const PLAIN = String.raw`[^"\\\u0000-\u001f]`;
const TEXT = String.raw`${PLAIN}*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})${PLAIN}*)*`;
const RESULT = String.raw`(\{"content":\[\{"type":"text","text":"${TEXT}"\}\](?:,"isError":(?:(true)|false))?\})`;
const ID = String.raw`(0|[1-9]\d{0,14})`;

/** As our own peer and Python's SDK write an answer, and as the TypeScript SDK does. */
const ID_FIRST = new RegExp(String.raw`^\{"jsonrpc":"2\.0","id":${ID},"result":${RESULT}\}$`);
const ID_LAST = new RegExp(String.raw`^\{"result":${RESULT},"jsonrpc":"2\.0","id":${ID}\}$`);

/** Longer messages are parsed, after their cost is estimated. */
const LONGEST = 64 * 1024;

/** An answer to a call, of which only the envelope was read. */
interface TextAnswer {
  readonly id: number;
  /** JSON of the result. */
  readonly json: string;
  readonly isError: boolean;
}

/** The same, as a message. */
export function messageOf({ id, json, isError }: TextAnswer): {
  readonly jsonrpc: "2.0";
  readonly id: number;
  readonly result: TextResult;
} {
  return { jsonrpc: "2.0", id, result: new TextResult(json, isError) };
}

/**
 * Reads the answer to a tool call whose result is one text, without parsing it: only if it is spelt
 * exactly as servers' libraries spell it. Such a message is valid JSON and has every member once.
 * Undefined for all others, which are left to the parser.
 */
export function readTextAnswer(message: string): TextAnswer | undefined {
  if (message.length > LONGEST) return undefined;
  const first = ID_FIRST.exec(message);
  if (first !== null) return answerOf(first[1], first[2], first[3]);
  const last = ID_LAST.exec(message);
  return last === null ? undefined : answerOf(last[3], last[1], last[2]);
}

function answerOf(id = "", json = "", isError: string | undefined): TextAnswer {
  return { id: Number(id), json, isError: isError !== undefined };
}
