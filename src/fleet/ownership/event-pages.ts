import type { StoredMessage } from "./journal.ts";

/** The events of one message, or of several with the parts of a large event. */
export interface StoredPage {
  readonly epoch: number;
  readonly node: string;
  readonly first: number;
  readonly last: number;
  /** One line for each event; empty for the first message of an epoch. */
  readonly lines: string;
}

/**
 * The events of messages. Parts of an event whose holder was replaced before the last part are left out,
 * and so are messages from before the session was created (`born`).
 */
export async function* eventPages(
  messages: AsyncIterable<StoredMessage>,
  born: number,
): AsyncGenerator<StoredPage> {
  let parts: Uint8Array[] = [];
  let partsOf = "";
  for await (const { epoch, node, first, last, body, more } of messages) {
    if (epoch < born) continue;
    const name = `${epoch}:${first}`;
    if (name !== partsOf) parts = [];
    parts.push(body);
    partsOf = name;
    if (more) continue;
    const lines = Buffer.concat(parts).toString("utf8");
    parts = [];
    yield { epoch, node, first, last, lines };
  }
}

/** The first lines of a page. */
export function linesUpTo(
  { first, lines }: Pick<StoredPage, "first" | "lines">,
  last: number,
): string {
  return `${lines.split("\n", last - first + 1).join("\n")}\n`;
}
