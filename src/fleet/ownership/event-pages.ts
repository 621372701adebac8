import type { EventMessage, StoredMessage } from "./journal.ts";

/** The events of one message, or of several with the parts of a large event. */
export interface StoredPage extends Pick<StoredMessage, "epoch" | "node" | "first" | "last"> {
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

/** Events with consecutive numbers, one line each, or a part of the line of a single large one. */
export type EventPiece = Pick<EventMessage, "first" | "last" | "body" | "more">;

/** Splits events into pieces that fit into a message. `lines` has one line for each event. */
export function piecesOf(first: number, last: number, lines: string, most: number): EventPiece[] {
  const whole = Buffer.from(lines);
  if (whole.length <= most) return [{ first, last, body: whole, more: false }];
  const pieces: EventPiece[] = [];
  let number = first;
  for (let at = 0; at < whole.length;) {
    const begin = number;
    let end = at;
    for (;;) {
      const next = whole.indexOf(NEWLINE, end) + 1 || whole.length;
      if (next - at > most || end === whole.length) break;
      end = next;
      number++;
    }
    if (end > at) {
      const body = whole.subarray(at, end);
      pieces.push({ first: begin, last: number - 1, body, more: false });
      at = end;
      continue;
    }
    // A line that fits into no message.
    const lineEnd = whole.indexOf(NEWLINE, at) + 1 || whole.length;
    for (; at < lineEnd; at += most) {
      const more = at + most < lineEnd;
      const body = whole.subarray(at, Math.min(at + most, lineEnd));
      pieces.push({ first: number, last: more ? number - 1 : number, body, more });
    }
    at = lineEnd;
    number++;
  }
  return pieces;
}

const NEWLINE = 10;

/** Joins pieces from the beginning of a list as long as they fit into one message. Removes them. */
export function takeTogether(pieces: EventPiece[], most: number): EventPiece | undefined {
  const first = pieces[0];
  if (first === undefined) return undefined;
  let count = 1;
  let bytes = first.body.length;
  for (; !first.more && count < pieces.length; count++) {
    const { body, more } = pieces[count] as EventPiece;
    // A part stays alone, so that readers find its event in messages of its own.
    if (more || bytes + body.length > most) break;
    bytes += body.length;
  }
  const taken = pieces.splice(0, count);
  const last = taken.at(-1)?.last ?? first.last;
  if (count === 1) return first;
  const body = Buffer.concat(taken.map((piece) => piece.body));
  return { first: first.first, last, body, more: false };
}
