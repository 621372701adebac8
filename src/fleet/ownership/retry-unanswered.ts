import { TrunklineError } from "../../base/errors.ts";
import { isFinal } from "./records.ts";

/** Attempts whose answer is lost, until the caller is told. */
export const ATTEMPTS = 6;

/** Repeats what NATS has not answered. `pause` waits before an attempt is repeated. */
export async function retryUnanswered<T>(
  pause: (attempt: number) => Promise<void>,
  work: () => Promise<T>,
): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await work();
    } catch (error) {
      if (isFinal(error)) throw error;
      if (attempt === ATTEMPTS) throw unanswered(error);
      await pause(attempt);
    }
  }
}

export function unanswered(error: unknown): TrunklineError {
  if (error instanceof TrunklineError) return error;
  const why = error instanceof Error ? error.message : String(error);
  return new TrunklineError("unavailable", `NATS does not answer: ${why}.`, { cause: error });
}
