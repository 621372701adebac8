import type { ChatInvocation } from "./open-chat.ts";

/** A session of a conversation that is to go on elsewhere. */
export interface MoveRequest {
  readonly session: string;
  /** A gateway, or `here`. */
  readonly to: string;
}

export const MOVE_HELP =
  "Say where to: `/move wss://server/acp`, or `/move here` for a session that works elsewhere.";

/** What comes after a conversation: a move, or how to go on another time. */
export function leftFor(
  to: string | undefined,
  session: string | undefined,
  out: (text: string) => void,
): MoveRequest | undefined {
  if (session === undefined) return undefined;
  if (to !== undefined) return { session, to };
  out(`\nContinue with \`trunkline chat --session ${session.slice(0, 8)}\`.\n`);
  return undefined;
}

/** Moves the session of a conversation. Returns what goes on with it, wherever it is then. */
export async function moveChat(
  invocation: ChatInvocation,
  { session, to }: MoveRequest,
): Promise<ChatInvocation> {
  const { values, err } = invocation;
  const from = values.url === undefined ? {} : { url: values.url };
  const where = to === "here" ? { here: true, ...from } : { to };
  try {
    const { move } = await import("../session/move.ts");
    await move({ ...invocation, positionals: [session], values: where });
  } catch (error) {
    // A failed move leaves the whole session on one side; the conversation continues there.
    err(`trunkline: ${(error as Error).message}\n`);
    return { ...invocation, values: { ...values, session } };
  }
  const { url: _, ...others } = values;
  return { ...invocation, values: { ...others, session } };
}
