import { atMost, untilAborted } from "../../../base/abort.ts";
import { ACP, MCP, TRUNKLINE } from "../../../rpc/codes.ts";
import { RpcError } from "../../../rpc/rpc-error.ts";
import { CannotAsk, type Question, type ToolContext } from "../../../tool/tool.ts";
import type { JsonObject } from "../json-object.ts";
import { isObject } from "../../../base/check.ts";
import { META, metaMember } from "../meta.ts";
import { statelessCodec } from "../revision/revisions.ts";

/**
 * Milliseconds that the caller's side has to answer a question of a server, by its method. A server may
 * do nothing else until it is answered: one client that never answers must not hold up the others for
 * ever. Roots are known to the client's program; the other questions may be for a person or a model.
 */
export const QUESTION_LIMITS: Readonly<Record<string, number>> = {
  "roots/list": 10_000,
  "sampling/createMessage": 10 * 60_000,
  "elicitation/create": 10 * 60_000,
};

/** The answer to a question; rejects when it does not come within its time, or nobody waits for it. */
export async function withinLimit<T>(
  answer: Promise<T>,
  { method }: Question,
  limits: Readonly<Record<string, number>>,
  signal: AbortSignal,
): Promise<T> {
  const limit = limits[method];
  if (limit === undefined) return answer;
  return atMost(limit, untilAborted(answer, signal), () => {
    const why = `the client has not answered '${method}' within ${limit / 1000} s`;
    return RpcError.of(ACP.timeout, why);
  });
}

/** MCP 2025-11-25, client/elicitation § URL Elicitation Required Error. */
export const URL_ELICITATION_REQUIRED = -32042;

/**
 * Passes a server's question to the caller. `shown` is called when the question is a page to visit,
 * with the id that the caller knows it by.
 */
export function passQuestion(
  context: ToolContext,
  question: Question,
  shown?: (id: string) => void,
): Promise<unknown> {
  const { method, params = {} } = question;
  const { task: _, _meta: __, ...plain } = params;
  const asked = { ...plain, ...metaMember(params) };
  if (method !== "elicitation/create" || params.mode !== "url") {
    return context.ask({ ...question, params: asked });
  }
  // MCP 2025-11-25, client/elicitation § URL Mode: a page has an id. A server without sessions gives none.
  const { elicitationId = crypto.randomUUID(), ...rest } = asked as JsonObject;
  if (isAskedInRounds(context)) return context.ask({ ...question, params: rest });
  shown?.(String(elicitationId));
  return context.ask({ ...question, params: { ...rest, elicitationId } });
}

/** Whether the caller is asked by `input_required`: then pages have no ids, and there is no -32042. */
export function isAskedInRounds({ meta }: ToolContext): boolean {
  return statelessCodec(meta[META.protocolVersion])?.has.inputRequired === true;
}

/** The error for a server whose question could not be answered. */
export function refusalOf(error: unknown): RpcError {
  if (error instanceof RpcError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new RpcError(TRUNKLINE.unavailable.code, why);
}

/**
 * Handles -32042 for callers whose revision has no such error: the person is shown each page. False if that
 * is not possible, or the person refused.
 */
export async function visitPages(error: RpcError, context: ToolContext): Promise<boolean> {
  const pages = isObject(error.data) ? error.data.elicitations : undefined;
  if (!Array.isArray(pages) || !isAskedInRounds(context)) return false;
  for (const page of pages.filter(isObject)) {
    const question = { method: "elicitation/create", params: { ...page, mode: "url" } };
    const answer = (await passQuestion(context, question)) as JsonObject;
    if (answer.action !== "accept") return false;
  }
  return pages.length > 0;
}

/** A server's -32021 as `CannotAsk`, which the door reports in the way of the caller's revision. */
export function asCannotAsk(error: RpcError): CannotAsk | undefined {
  if (error.code !== MCP.missingCapability.code || !isObject(error.data)) return undefined;
  const needed = error.data.requiredCapabilities;
  if (!isObject(needed)) return undefined;
  if (isObject(needed.elicitation)) {
    const mode = "url" in needed.elicitation ? "url" : "form";
    return new CannotAsk({ method: "elicitation/create", params: { mode } });
  }
  if (isObject(needed.sampling)) {
    const params = "tools" in needed.sampling ? { tools: [] } : {};
    return new CannotAsk({ method: "sampling/createMessage", params });
  }
  return isObject(needed.roots) ? new CannotAsk({ method: "roots/list" }) : undefined;
}
