import { sessionUpdate, toolCall, toolResult } from "../messages.ts";
import { readLines } from "./line-reader.ts";
import type { Program } from "./program.ts";
import { Tally } from "./tally.ts";

/** Sends so many messages through and resolves when all have come out as they should. */
export type RelayTraffic = (messages: number) => Promise<void>;

const BATCH = 100;

/**
 * Both ends of a relay: the client on its standard streams, the server on its fourth. Every message
 * must come out as it went in, but for the ids of requests, which must come back on the answers.
 */
export function startRelayLoad(program: Program): {
  readonly updates: RelayTraffic;
  readonly calls: RelayTraffic;
} {
  const { stdin, stdout, extra } = program;
  const updates = new Tally();
  const answers = new Tally();
  let replies = "";

  readLines(extra, (line) => {
    const { id } = JSON.parse(line) as { id: number };
    // The relay counts its own ids from one, as we do ours from OFFSET.
    if (line !== toolCall(id + OFFSET).replace(`"id":${id + OFFSET}`, `"id":${id}`)) {
      answers.wrong(`The relay changed a request: ${line}`);
    }
    if (replies === "") setImmediate(reply);
    replies += `${toolResult(id)}\n`;
  });
  readLines(stdout, (line) => {
    if (line.includes('"method":"session/update"')) receive(updates, line, sessionUpdate);
    else receive(answers, line, (n) => toolResult(n).replace(`"id":${n}`, `"id":${n + OFFSET}`));
  });

  function reply(): void {
    extra.write(replies);
    replies = "";
  }

  /** Messages of one kind arrive in the order they were sent. */
  function receive(tally: Tally, line: string, expected: (number: number) => string): void {
    if (line === expected(tally.count + 1)) tally.add();
    else tally.wrong(`Message ${tally.count + 1} came out of the relay as ${line}`);
  }

  async function drive(
    tally: Tally,
    messages: number,
    send: (from: number, to: number) => void,
  ): Promise<void> {
    let sent = tally.count;
    const end = sent + messages;
    while (sent < end) {
      const from = sent + 1;
      sent = Math.min(end, sent + BATCH);
      send(from, sent);
      await program.until(tally.reach(sent - BATCH));
    }
    await program.until(tally.reach(end));
  }

  return {
    updates: (messages) =>
      drive(updates, messages, (from, to) => extra.write(linesOf(from, to, sessionUpdate))),
    // A call is two messages: there, and its answer back.
    calls: (messages) =>
      drive(answers, messages / 2, (from, to) => {
        stdin.write(linesOf(from + OFFSET, to + OFFSET, toolCall));
      }),
  };
}

/** Our ids are larger than the relay's own, so that one taken for the other is noticed. */
const OFFSET = 1_000_000;

function linesOf(from: number, to: number, message: (number: number) => string): string {
  let lines = "";
  for (let number = from; number <= to; number++) lines += `${message(number)}\n`;
  return lines;
}
