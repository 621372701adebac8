const MiB = 1024 * 1024;

/** Bodies of frames that are as much work as their bytes can be, by what is the matter with them. */
export function* denseFrames(): Generator<[name: string, body: Buffer]> {
  const many = 99_000;
  yield ["a list of nulls", call(list(repeated(field(1, Buffer.from([0x08, 0x00])), many)))];
  yield ["a list of empty texts", call(list(repeated(field(1, Buffer.from([0x1a, 0x00])), many)))];
  yield ["a list of empty objects", call(list(repeated(field(1, field(5, none)), many / 2)))];
  yield ["a list of empty lists", call(list(repeated(field(1, field(6, none)), many / 2)))];
  yield ["a list of values that are none", call(list(repeated(field(1, none), many)))];
  yield ["an object of many keys", call(field(5, keys(many / 4)))];
  yield ["one long text", call(field(3, Buffer.alloc(15 * MiB, "x")))];
  yield ["one long text of three-byte characters", call(field(3, Buffer.alloc(15 * MiB, "日")))];
  yield ["one long text that is none", call(field(3, Buffer.alloc(15 * MiB, 0xff)))];
  yield [
    "unknown fields",
    Buffer.concat([field(1, Buffer.from("dense")), repeated(field(1000, none), many)]),
  ];
  yield ["bytes that mean nothing", Buffer.alloc(15 * MiB, 0xff)];
  yield ["nothing but zeros", Buffer.alloc(15 * MiB)];
  yield ["groups that never end", Buffer.alloc(15 * MiB, 0x0b)];
  yield [
    "a document of 15 MiB",
    Buffer.concat([field(1, Buffer.from("dense")), field(31, field(2, Buffer.alloc(15 * MiB)))]),
  ];
  yield [
    "names that a plugin needs",
    Buffer.concat([
      field(1, Buffer.from("dense")),
      field(10, repeated(field(12, Buffer.from("a")), many)),
    ]),
  ];
}

const none = Buffer.alloc(0);

/** A tool call with one argument. */
function call(value: Buffer): Buffer {
  const entry = Buffer.concat([field(1, Buffer.from("a")), field(2, value)]);
  const request = Buffer.concat([field(1, Buffer.from("none")), field(2, field(1, entry))]);
  return Buffer.concat([field(1, Buffer.from("dense")), field(20, request)]);
}

function list(items: Buffer): Buffer {
  return field(6, items);
}

function keys(count: number): Buffer {
  const value = field(2, Buffer.from([0x08, 0x00]));
  const entries = Array.from({ length: count }, (_, at) =>
    field(1, Buffer.concat([field(1, Buffer.from(at.toString(36))), value])),
  );
  return Buffer.concat(entries);
}

function repeated(bytes: Buffer, count: number): Buffer {
  return Buffer.alloc(bytes.length * Math.floor(count), bytes);
}

/** A field of bytes. */
export function field(number: number, bytes: Buffer): Buffer {
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 0x80) return Buffer.from([...bytes, left]);
    bytes.push((left % 128) | 0x80);
  }
}
