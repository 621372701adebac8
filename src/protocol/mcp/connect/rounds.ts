import { abortSignalOf } from "../../../base/abort.ts";
import { setTimeout as sleep } from "node:timers/promises";

import { TRUNKLINE } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import type { Question, ToolContext } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { passQuestion } from "./questions.ts";

const MOST_ROUNDS = 50;
/** Milliseconds before a request is repeated for a server that asked nothing but is not done. */
const PAUSE = 250;

/**
 * Sends a request until it is complete (MCP 2026-07-28, basic/patterns/mrtr § Client Requirements):
 * input requests are passed to the caller, and the answers go with the next attempt, with the state.
 */
export async function askInRounds(
  ask: (params: JsonObject) => Promise<JsonObject>,
  params: JsonObject,
  context: ToolContext,
): Promise<JsonObject> {
  let result = await ask(params);
  if (result.resultType !== "input_required") return result;
  const pages: string[] = [];
  for (let round = 1; result.resultType === "input_required"; round++) {
    if (round > MOST_ROUNDS) {
      throw RpcError.of(
        TRUNKLINE.badAnswer,
        `the server asked for more input ${MOST_ROUNDS} times`,
      );
    }
    const { inputRequests, requestState } = result;
    const state = typeof requestState === "string" ? { requestState } : {};
    if (isObject(inputRequests) && Object.keys(inputRequests).length > 0) {
      const inputResponses = await answers(inputRequests, context, pages);
      result = await ask({ ...params, inputResponses, ...state });
    } else {
      await sleep(PAUSE, undefined, { signal: abortSignalOf(context.signal) });
      result = await ask({ ...params, ...state });
    }
  }
  // This revision has no such notification; but the server could not have gone on otherwise.
  for (const id of pages) context.pageDone?.(id);
  return result;
}

async function answers(
  inputRequests: JsonObject,
  context: ToolContext,
  pages: string[],
): Promise<JsonObject> {
  const all = Object.entries(inputRequests).map(async ([key, request]) => {
    const question = questionOf(key, request);
    return [key, await passQuestion(context, question, (id) => pages.push(id))] as const;
  });
  return Object.fromEntries(await Promise.all(all));
}

/** An input request of a server, as a question to the caller. */
export function questionOf(key: string, request: unknown): Question {
  const { method, params } = isObject(request) ? request : {};
  if (typeof method !== "string") {
    throw RpcError.of(TRUNKLINE.badAnswer, `the server's input request '${key}' has no method`);
  }
  return { key, method, ...(isObject(params) ? { params } : {}) };
}
