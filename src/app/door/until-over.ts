import { untilSignal } from "../../base/process/long-running.ts";

/** Milliseconds after the end of input: the client may still read answers. */
const INPUT_GRACE = 10_000;
/** Milliseconds after a signal: its sender waits for the process to end. */
const SIGNAL_GRACE = 800;

/** A conversation with a client. */
interface Conversation {
  /** Resolves when the client has finished sending, or is gone. */
  readonly ended: Promise<void>;
  /** Answers what is open, waiting at most `grace` milliseconds, and closes. */
  close(grace: number): Promise<void>;
}

/** Resolves when a conversation was ended by the other side or by a signal, and is closed. */
export async function untilOver(conversation: Conversation): Promise<void> {
  const signalled = untilSignal().then(() => conversation.close(SIGNAL_GRACE));
  // A signal that comes while the last answers are awaited cuts the wait short.
  const ended = conversation.ended.then(() => conversation.close(INPUT_GRACE));
  await Promise.race([signalled, ended]);
}
