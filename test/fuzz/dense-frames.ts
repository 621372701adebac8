import { MAX_FRAME } from "../../src/wire/framing/length-prefixed.ts";
import { field } from "./protobuf-field.ts";

/** Most parts of one message, as the bus counts them. */
const MAX_PARTS = 100_000;

const ID = "dense";
const none = Buffer.alloc(0);
const nothing = Buffer.from([0x08, 0x00]);

/**
 * Bodies of frames that are as much work as one may be, or a part of that: each a request by this
 * id, where it can be read at all.
 */
export function* denseFrames(part: number): Generator<[name: string, id: string, body: Buffer]> {
  const bytes = part * (MAX_FRAME - 1000);
  const many = part * (MAX_PARTS - 100);
  yield ["a list of nulls", ID, call(list(repeated(field(1, nothing), many)))];
  yield ["a list of empty texts", ID, call(list(repeated(field(1, field(3, none)), many)))];
  yield ["a list of empty objects", ID, call(list(repeated(field(1, field(5, none)), many / 2)))];
  yield ["a list of empty lists", ID, call(list(repeated(field(1, field(6, none)), many / 2)))];
  yield ["a list of values that are none", ID, call(list(repeated(field(1, none), many)))];
  yield ["an object of many keys", ID, call(field(5, keys(many / 4)))];
  yield ["rows of three columns", ID, call(list(repeated(field(1, row()), many / 14)))];
  yield ["more nulls than pass", "", call(list(repeated(field(1, nothing), bytes / 4)))];
  yield ["more keys than pass", "", call(field(5, keys(many)))];
  yield ["one text", ID, call(field(3, filled(bytes, "x")))];
  yield ["one text of three-byte characters", ID, call(field(3, filled(bytes, "日")))];
  yield ["one text that is none", "", call(field(3, filled(bytes, 0xff)))];
  yield ["fields that nobody knows", ID, asked(repeated(field(1000, none), many))];
  yield [
    "names that a plugin needs",
    ID,
    asked(field(10, repeated(field(12, Buffer.from("a")), many))),
  ];
  yield ["a document", ID, asked(field(31, field(2, filled(bytes, 0))))];
  yield ["a number that never ends", "", filled(bytes, 0xff)];
  yield ["nothing but zeros", "", filled(bytes, 0)];
  yield ["groups that never end", "", filled(bytes, 0x0b)];
}

function asked(rest: Buffer): Buffer {
  return Buffer.concat([field(1, Buffer.from(ID)), rest]);
}

/** A tool call with one argument. */
function call(value: Buffer): Buffer {
  const entry = Buffer.concat([field(1, Buffer.from("a")), field(2, value)]);
  return asked(
    field(20, Buffer.concat([field(1, Buffer.from("none")), field(2, field(1, entry))])),
  );
}

function list(items: Buffer): Buffer {
  return field(6, items);
}

function row(): Buffer {
  return field(5, Buffer.concat(["id", "name", "value"].map(member)));
}

function keys(count: number): Buffer {
  return Buffer.concat(Array.from({ length: count }, (_, at) => member(at.toString(36))));
}

/** A member of an object, which is null. */
function member(key: string): Buffer {
  return field(1, Buffer.concat([field(1, Buffer.from(key)), field(2, nothing)]));
}

function repeated(bytes: Buffer, count: number): Buffer {
  return Buffer.alloc(bytes.length * Math.floor(count), bytes);
}

function filled(size: number, filling: string | number): Buffer {
  // Whole characters of three bytes.
  return Buffer.alloc(Math.floor(size / 3) * 3, filling);
}
