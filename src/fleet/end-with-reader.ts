import type { ConsumerMessages } from "@nats-io/jetstream";

import { background } from "../base/background.ts";

/**
 * Milliseconds after which the server forgets a reader that asks for nothing more, such as one whose
 * process was killed. Readers that follow a stream ask more often.
 */
export const UNUSED_READER = 20_000;

/**
 * Ends the messages when the library has put another reader in the place of theirs, which it does where
 * the server was silent: that one would stay in the server for minutes after this process was killed.
 * Whoever follows the stream begins anew.
 */
export function endWithReader(messages: ConsumerMessages): void {
  background(watch(messages), "Watching a reader of a stream");
}

async function watch(messages: ConsumerMessages): Promise<void> {
  for await (const { type } of messages.status()) {
    if (type === "ordered_consumer_recreated") messages.stop();
  }
}
