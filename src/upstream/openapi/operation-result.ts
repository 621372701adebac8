import { STATUS_CODES } from "node:http";

import { DEFAULT_LIMITS } from "../../base/limit/limits.ts";
import { isDeeper, isObject } from "./document.ts";
import type { HttpResult } from "./http-call.ts";

/** Characters of an error that are repeated. */
const LONGEST_ERROR = 4_000;
/** Levels of an object: those of a message, without the ones around it. */
const MOST_LEVELS = DEFAULT_LIMITS.maxDepth - 8;

interface Result {
  readonly content: readonly object[];
  readonly structuredContent?: object;
  readonly isError?: boolean;
}

/** The answer to a request as the result of a tool. */
export function resultOf(what: string, { status, type, body, isCut }: HttpResult): Result {
  if (status >= 300) return failed(`${what} answered ${statusText(status)}${hint(status)}`, body);
  const ends = isCut
    ? [note(`The answer is longer than ${body.length} bytes and was cut off.`)]
    : [];
  if (body.length === 0)
    return { content: [note(`${what} answered ${statusText(status)}.`), ...ends] };
  const [media = ""] = type.split(";");
  if (/^image\//i.test(media) && !/svg/i.test(media) && !isCut) {
    return { content: [{ type: "image", data: body.toString("base64"), mimeType: media.trim() }] };
  }
  if (!isText(media, body)) {
    return {
      content: [note(`${what} answered ${body.length} bytes of ${media || "an unknown type"}.`)],
    };
  }
  const text = body.toString("utf8");
  const value = isCut ? undefined : parsed(text);
  return {
    content: [note(text), ...ends],
    // A result has an object; a list, and what is too deep for a message, is in the text only.
    ...(isObject(value) && !isDeeper(value, MOST_LEVELS) ? { structuredContent: value } : {}),
  };
}

/** What failed before there was an answer. */
export function failed(why: string, body: Buffer = Buffer.alloc(0)): Result {
  const said = body
    .subarray(0, LONGEST_ERROR * 4)
    .toString("utf8")
    .slice(0, LONGEST_ERROR)
    .trim();
  const text = said === "" ? `${why}.` : `${why}: ${said}`;
  return { content: [note(text)], isError: true };
}

function note(text: string): object {
  return { type: "text", text };
}

function statusText(status: number): string {
  return `${status} ${STATUS_CODES[status] ?? ""}`.trim();
}

function hint(status: number): string {
  if (status === 401)
    return " (it wants credentials, or others: see 'auth' and 'headers' of the server)";
  if (status === 429) return " (too many requests)";
  return "";
}

function isText(media: string, body: Buffer): boolean {
  if (/^text\/|json|xml|yaml|javascript|urlencoded|csv|graphql/i.test(media)) return true;
  return (
    !body.subarray(0, 1_000).includes(0) && /^(?:application\/octet-stream)?$/i.test(media.trim())
  );
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
