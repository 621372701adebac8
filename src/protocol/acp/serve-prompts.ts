import { onAbort } from "../../base/abort.ts";
import { TrunklineError } from "../../base/errors.ts";
import { ACP } from "../../rpc/codes.ts";
import type { Route } from "../../rpc/route.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import type { ContentBlock } from "../../session/agent.ts";
import { readSubagentId } from "../../session/subagent.ts";
import type { AcpConnection } from "./connection.ts";
import { METHODS, objectOf, ours } from "./methods.ts";
import type { AcpDoor, Handle } from "./door.ts";
import { refuseObserver } from "./serve-sessions.ts";
import type { PromptParams } from "./schema.gen.ts";
import { interruptedTurn, wrongParams } from "./session-errors.ts";

/** Routes of turns: session/prompt, _session/steering, _session/answer, session/cancel. */
export function servePrompts(door: AcpDoor): Route<AcpConnection>[] {
  return [
    door.serve(
      METHODS.prompt,
      async (params, call) => {
        const prompt = params.prompt as readonly ContentBlock[];
        checkPrompt(prompt);
        const found = door.session(params.sessionId, call.state);
        const session = found instanceof Promise ? await found : found;
        const client = call.state;
        refuseObserver(client, params.sessionId, "send a prompt");
        if (!session.isAttached(client)) session.attach(client);
        const meta = params._meta ?? undefined;
        const whileRunning = wishOf(meta) ?? (client.isEchoed ? "queue" : undefined);
        const taken = Promise.withResolvers<unknown>();
        const withdrawn = Promise.withResolvers<never>();
        withdrawn.promise.catch(() => {});
        let isWanted = true;
        let hasTurn = false;
        let isInserted = false;
        const stopped = (reason: Error): void => {
          // Only `$/cancel_request` cancels. A lost connection does not: the turn continues.
          if (!(reason instanceof TrunklineError) || reason.code !== "cancelled") return;
          isWanted = false;
          // A prompt that is queued or steers is withdrawn; the turn of another prompt continues.
          if (!hasTurn) withdrawn.reject(RpcError.of(ACP.cancelled));
          else if (isInserted) session.cancel();
        };
        onAbort(call.signal, stopped);
        if (!isWanted) throw RpcError.of(ACP.cancelled);
        const { sentAfter } = ours(meta);
        if (typeof sentAfter === "number") {
          const ending = session.endOf(prompt, client, sentAfter);
          const known = await Promise.race([ending, withdrawn.promise]);
          if (known?.stopReason === "interrupted") throw interruptedTurn();
          if (known !== undefined) return known;
        }
        const end = session.prompt({
          prompt,
          client,
          meta,
          whileRunning,
          begun: () => (hasTurn = true),
          inserted: (messageId) => {
            isInserted = true;
            taken.resolve({ messageId });
          },
          isWanted: () => isWanted,
        });
        // Version 2: after the prompt is accepted, updates tell how its turn ends.
        end.then(() => taken.reject(RpcError.of(ACP.cancelled)), taken.reject);
        taken.promise.catch(() => {});
        const answer = await Promise.race([
          client.isEchoed ? taken.promise : end,
          withdrawn.promise,
        ]);
        // Answered only when the turn has ended: the client may then send its next prompt.
        if (!isWanted) throw RpcError.of(ACP.cancelled);
        return answer;
      },
      // The session counts the time without progress, also while no client is connected.
      { isPatient: true, answersCancelled: true, isFree: isCommand(door), uncounted: imageBytes },
    ),
    door.serve(METHODS.steer, steer(door), {
      limitedAs: METHODS.prompt.name,
      uncounted: imageBytes,
    }),
    door.serve(METHODS.answer, async ({ sessionId, requestId, optionId }, { state }) => {
      const session = await door.session(sessionId, state);
      await session.answer(requestId, optionId, state);
      return {};
    }),
    // ACP prompt-turn § Cancellation: a notification; the prompt itself is answered with "cancelled".
    door.serve(METHODS.cancel, ({ sessionId: id }, { state }) => {
      const { session: sessionId, child } = readSubagentId(id);
      const session = door.opened?.get(sessionId);
      if (session === undefined || !state.mayUse(session.notes.owner)) return;
      refuseObserver(state, sessionId, "cancel the turn");
      if (child === undefined) session.cancel();
      else session.cancelSubagent(child);
    }),
  ];
}

/** A command that an agent runs without a model does not count as a prompt. */
function isCommand(door: AcpDoor): (params: unknown) => boolean {
  return (params) => {
    const { sessionId, prompt } = params as PromptParams;
    return door.opened?.get(sessionId)?.isCommand(prompt) === true;
  };
}

/**
 * The extension method with which some editors steer a running turn. It is answered at once; updates
 * tell what becomes of the prompt.
 */
function steer(door: AcpDoor): Handle<PromptParams> {
  return async ({ sessionId, prompt: blocks, _meta }, { state: client }) => {
    const prompt = blocks as readonly ContentBlock[];
    checkPrompt(prompt);
    const session = await door.session(sessionId, client);
    refuseObserver(client, sessionId, "steer the turn");
    const { isRunning } = session;
    const { idleBehavior } = objectOf(objectOf(_meta).steering);
    if (!isRunning && idleBehavior === "promptRequired") {
      return { outcome: "promptRequired", reason: "noRunningTurn" };
    }
    if (!session.isAttached(client)) session.attach(client);
    session.prompt({ prompt, client, whileRunning: "steer" }).catch(() => {});
    return { outcome: isRunning ? "injected" : "startedNewTurn" };
  };
}

function wishOf(meta: unknown): "steer" | "queue" | undefined {
  const { whileRunning: wish } = ours(meta);
  return wish === "steer" || wish === "queue" ? wish : undefined;
}

const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  text: ["text"],
  image: ["data", "mimeType"],
  audio: ["data", "mimeType"],
  resource_link: ["uri", "name"],
  resource: [],
};

/** ACP message specification § Content Validation: what a prompt may contain. */
export function checkPrompt(prompt: readonly ContentBlock[]): void {
  for (const [index, block] of prompt.entries()) {
    const at = `params.prompt[${index}]`;
    const required = Object.hasOwn(REQUIRED, block.type) ? REQUIRED[block.type] : undefined;
    if (required === undefined) {
      throw wrongParams(`'${at}.type' must be one of: ${Object.keys(REQUIRED).join(", ")}`);
    }
    for (const key of required) {
      if (typeof block[key] !== "string") throw wrongParams(`'${at}.${key}' must be a string`);
    }
    if (block.type === "image" || block.type === "audio") checkData(block.data, `${at}.data`);
    if (block.type === "resource") checkResource(block.resource, `${at}.resource`);
    if (block.type === "text" && String(block.text).includes("\0")) {
      throw wrongParams(`'${at}.text' must not contain null bytes`);
    }
  }
}

/** RFC 4648 § 4: a model's provider would refuse the whole conversation, now and later. */
function checkData(data: unknown, at: string): void {
  const text = String(data);
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]+={0,2}$/.test(text)) return;
  const next = text.startsWith("data:") ? ": leave out the part up to the comma" : "";
  throw wrongParams(`'${at}' must be base64 with padding${next}`);
}

/** Bytes of a prompt that are images, which its limit of size does not count. */
export function imageBytes(params: unknown): number {
  const { prompt } = (params ?? {}) as { prompt?: unknown };
  if (!Array.isArray(prompt)) return 0;
  return (prompt as (Partial<ContentBlock> | null)[]).reduce((sum, block) => {
    const { type, data } = block ?? {};
    return type === "image" && typeof data === "string" ? sum + data.length : sum;
  }, 0);
}

function checkResource(resource: unknown, at: string): void {
  const { uri, text, blob } = (resource ?? {}) as Record<string, unknown>;
  if (typeof uri !== "string") throw wrongParams(`'${at}.uri' must be a string`);
  if (typeof text !== "string" && typeof blob !== "string") {
    throw wrongParams(`'${at}' must have a text or a blob`);
  }
  if (typeof text !== "string") checkData(blob, `${at}.blob`);
  else if (text.includes("\0")) throw wrongParams(`'${at}.text' must not contain null bytes`);
}
