import { setTimeout as sleep } from "node:timers/promises";

import { Backoff } from "../../base/limit/backoff.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { ACP, TRUNKLINE } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { askModel, type ModelAnswer, type ModelQuestion } from "./ask-model.ts";
import { type ModelFailure, modelFailure } from "./model-failure.ts";

/** When a request to a model is retried. */
export interface RetryLimits {
  readonly attempts: number;
  /** Milliseconds before the second attempt; doubles with each attempt. */
  readonly firstWait: number;
  readonly longestWait: number;
  /** Milliseconds without data after which the stream is given up. */
  readonly silence: number;
}

export const RETRY: RetryLimits = {
  attempts: 5,
  firstWait: 1_000,
  longestWait: 60_000,
  silence: 180_000,
};

/** The conversation exceeds the context window. */
export class Overflow extends Error {
  override readonly name = "Overflow";
}

/** The provider refuses the conversation; a retry would fail again. */
export class Refusal extends TrunklineError {
  constructor(code: "unavailable" | "usage", message: string) {
    super(code, message);
  }
}

export interface RetriedQuestion extends ModelQuestion {
  readonly name: string;
  readonly retry: RetryLimits;
  readonly log: Log;
}

/**
 * Sends a request to a model, and retries it after temporary failures, with a notice each time. Throws
 * `Overflow`, `Refusal`, or an error that says what failed.
 */
export async function askWithRetry(question: RetriedQuestion): Promise<ModelAnswer> {
  const { stop, speaker, retry, name, log } = question;
  const { attempts, firstWait, longestWait } = retry;
  const backoff = new Backoff({ firstWait, longestWait, mostFailures: Infinity, rest: 0 });
  for (;;) {
    let said = "";
    try {
      const heard = (text: string): void => {
        said += text;
        question.said(text);
      };
      return await askModel({ ...question, said: heard });
    } catch (error) {
      stop.signal.throwIfAborted();
      const failure = modelFailure(error);
      log.warn("agent.model-failed", { model: name, kind: failure.kind, says: failure.says });
      if (failure.kind === "overflow") throw new Overflow(failure.says);
      const wait = Math.max(backoff.failed(), failure.retryAfter ?? 0);
      const canPass = failure.kind === "passing" || failure.kind === "rate";
      if (!canPass || backoff.failures >= attempts || wait > longestWait) {
        throw givenUp(name, failure, backoff.failures);
      }
      const seconds = Math.max(1, Math.round(wait / 1000));
      const next = `Trying again in ${seconds} s (attempt ${backoff.failures + 1} of ${attempts})`;
      const lost = said === "" ? "" : " What it had begun to say does not count.";
      await speaker.notice("warning", `${name} ${failure.says}. ${next}.${lost}`);
      await sleep(wait, undefined, { signal: stop.signal });
    }
  }
}

function givenUp(name: string, failure: ModelFailure, attempts: number): Error {
  const { kind, says, retryAfter } = failure;
  const kept = "What was said and done so far is kept; send 'continue' to go on";
  if (kind === "key") {
    const next = "Check the key (`trunkline models key set`), or choose another model";
    return RpcError.of(ACP.authRequired, `${name} ${says}. ${next}. ${kept}`);
  }
  if (kind === "rate") {
    const when = retryAfter === undefined ? "later" : `in ${Math.ceil(retryAfter / 1000)} s`;
    const data = retryAfter === undefined ? undefined : { retryAfterMs: Math.ceil(retryAfter) };
    return RpcError.of(TRUNKLINE.rateLimited, `${name} ${says}. Try again ${when}. ${kept}`, data);
  }
  if (kind === "final") return new Refusal("unavailable", `${name} ${says}. ${kept}`);
  const often = attempts > 1 ? `, ${attempts} times` : "";
  return new TrunklineError("unavailable", `${name} ${says}${often}. ${kept}`);
}
