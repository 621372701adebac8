import type { Turn } from "../../session/agent.ts";

/** Waits while a person has paused the turn. Throws if the turn is stopped meanwhile. */
export async function untilContinued(turn: Turn): Promise<void> {
  for (let paused = turn.paused?.(); paused !== undefined; paused = turn.paused?.()) {
    const wait = async (): Promise<void> => paused;
    await (turn.whileWaiting?.(wait) ?? wait());
    turn.signal.throwIfAborted();
  }
}
