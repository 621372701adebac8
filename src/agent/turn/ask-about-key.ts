import type { Turn } from "../../session/agent.ts";
import { ACP } from "../../rpc/codes.ts";
import { RpcError } from "../../rpc/rpc-error.ts";
import { textContent } from "../tools/agent-tool.ts";

/** Questions in one request to a model: a client that allows everything would ask without end. */
const MOST_QUESTIONS = 3;

/**
 * Asks a model. If its key is refused, such as one that has expired, the person is asked whether to try
 * again with the key that is stored then, so that the turn is not lost. Whoever rejects that gets the error.
 */
export async function withValidKey<T>(
  turn: Pick<Turn, "requestPermission">,
  model: string,
  ask: () => Promise<T>,
  renew: () => Promise<void>,
): Promise<T> {
  for (let left = MOST_QUESTIONS; ; left--) {
    try {
      return await ask();
    } catch (error) {
      const isRefused = error instanceof RpcError && error.code === ACP.authRequired.code;
      if (!isRefused || left === 0 || !(await mayRetry(turn, model, error))) throw error;
      await renew();
    }
  }
}

async function mayRetry(
  turn: Pick<Turn, "requestPermission">,
  model: string,
  { message }: Error,
): Promise<boolean> {
  const next =
    "Log in again or store another key (`trunkline models key set NAME`), then choose to try again.";
  const outcome = await turn.requestPermission({
    toolCall: {
      toolCallId: crypto.randomUUID(),
      title: `${model} refused the key. Try again?`,
      kind: "other",
      status: "pending",
      content: [textContent(`${message}\n\n${next}`)],
    },
    options: [
      { optionId: "retry", name: "Try again with the key that is stored now", kind: "allow_once" },
      { optionId: "stop", name: "Stop", kind: "reject_once" },
    ],
  });
  return outcome.outcome === "selected" && outcome.kind === "allow_once";
}
