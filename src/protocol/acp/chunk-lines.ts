import { ownCopy } from "../../base/text/own-copy.ts";
import { TextChunk } from "../../session/client/text-chunk.ts";
import type { UpdateParams } from "./schema.gen.ts";

/** RFC 8259 § 7: characters of a JSON string that are not escaped. */
const PLAIN = String.raw`[^"\\\u0000-\u001f]`;
const TEXT = new RegExp(String.raw`^${PLAIN}*(?:\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4})${PLAIN}*)*$`);
const NAME = `${PLAIN}{1,256}`;
const MESSAGE_ID = `"messageId":"${NAME}"`;

const ENVELOPE = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"`;
/** Up to the text of the chunk. */
const HEAD = new RegExp(
  `^(${RegExp.escape(ENVELOPE)}(${NAME})","update":)` +
    String.raw`\{"sessionUpdate":"((?:agent_message|agent_thought|user_message)_chunk)",` +
    String.raw`(${MESSAGE_ID},)?"content":\{"type":"text","text":"`,
);
/** After the text: the content, the update, the parameters and the message end. */
const TAIL = new RegExp(String.raw`"\}(,${MESSAGE_ID})?\}\}\}$`);
/** Braces that end the parameters and the message. */
const CLOSING = 2;

/** Sessions whose frames are kept. */
const MOST_FRAMES = 256;
/** Longer lines are parsed, after their cost is estimated. */
const LONGEST = 64 * 1024;

/** What the lines of one message have in common. */
interface Frame {
  readonly head: string;
  readonly tail: string;
  readonly sessionId: string;
  readonly kind: string;
  /** Where the update begins. */
  readonly from: number;
  readonly updateHead: string;
  readonly updateTail: string;
}

/**
 * Reads lines in which an agent sends a piece of text, without parsing them: only those that are spelt
 * exactly as agents' libraries spell them. Such a line is valid JSON and has every member once. All
 * other lines are left to the parser.
 */
export class ChunkLines {
  /** By session. The next line of a session often differs from the last only in its text. */
  readonly #frames = new Map<string, Frame>();

  /** The parameters of the line's `session/update`; undefined if the line has to be parsed. */
  read(line: string): UpdateParams | undefined {
    if (line.length > LONGEST || !begins(line, ENVELOPE)) return undefined;
    const session = line.slice(ENVELOPE.length, line.indexOf('"', ENVELOPE.length));
    let frame = this.#frames.get(session);
    if (frame === undefined || !begins(line, frame.head) || !line.endsWith(frame.tail)) {
      frame = frameOf(line);
      if (frame === undefined) return undefined;
      if (this.#frames.size >= MOST_FRAMES) this.#frames.clear();
      this.#frames.set(frame.sessionId, frame);
    }
    const { head, tail, sessionId, kind, from, updateHead, updateTail } = frame;
    const body = line.slice(head.length, -tail.length);
    // A text that ends within the head or the tail makes the line too short.
    if (head.length + body.length + tail.length !== line.length || !TEXT.test(body))
      return undefined;
    const json = line.slice(from, -CLOSING);
    return { sessionId, update: new TextChunk(kind, updateHead, body, updateTail, json) };
  }
}

/** Ten times as fast as `startsWith`, which compares long strings one character after another. */
function begins(line: string, head: string): boolean {
  return line.slice(0, head.length) === head;
}

function frameOf(line: string): Frame | undefined {
  const [head, before = "", sessionId = "", kind = "", idBefore] = HEAD.exec(line) ?? [];
  const [tail, idAfter] = TAIL.exec(line) ?? [];
  if (head === undefined || tail === undefined) return undefined;
  if (idBefore !== undefined && idAfter !== undefined) return undefined;
  const from = before.length;
  return {
    head: ownCopy(head),
    tail: ownCopy(tail),
    sessionId: ownCopy(sessionId),
    kind: ownCopy(kind),
    from,
    updateHead: ownCopy(head.slice(from)),
    updateTail: ownCopy(tail.slice(0, -CLOSING)),
  };
}
