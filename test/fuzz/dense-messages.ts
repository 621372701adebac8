/** As large as a message may be. */
export const LARGEST = 10 * 1024 * 1024;

/** Any method will do: it is not about what is done with a message, but that it can be read. */
const START = `{"jsonrpc":"2.0","id":"dense","method":"ping","params":`;

/** Parameters that are as much work as their bytes can be, by what is the matter with them. */
const PARAMS: Record<string, (room: number) => string> = {
  "empty arrays": (room) => `[${fill("[],", room)}0]`,
  "empty objects": (room) => `[${fill("{},", room)}0]`,
  "arrays never closed": (room) => fill("[", room),
  "arrays closed": (room) => fill("[", room / 2) + fill("]", room / 2),
  "objects in objects": (room) => fill(`{"a":`, room),
  "only closing brackets": (room) => fill("]", room),
  "small numbers": (room) => `[${fill("1,", room)}0]`,
  "hard numbers": (room) => `[${fill("2.4703282292062327208828439643411e-324,", room)}0]`,
  "one number": (room) => fill("7", room),
  "one fraction": (room) => `0.${fill("7", room)}`,
  "one exponent": (room) => `1e${fill("9", room)}`,
  spaces: (room) => fill(" ", room) + "0",
  "tabs and returns": (room) => fill("\t\r", room) + "0",
  commas: (room) => `[${fill(",", room)}`,
  colons: (room) => `{${fill(":", room)}`,
  quotes: (room) => fill('"', room),
  "empty strings": (room) => `[${fill(`"",`, room)}0]`,
  "strings, each its own": (room) => list(room, 43_000, (i) => `"${i.toString(36)}"`),
  "escaped strings, each its own": (room) => list(room, 40_000, (i) => `"\\n${i.toString(36)}"`),
  "one key again and again": (room) => `{${fill(`"k":0,`, room)}"k":0}`,
  "one object of many keys": (room) => `{${keys(room, 600_000)}}`,
  "one object of as many keys as pass": (room) => `{${keys(room, 18_000)}}`,
  "objects, each with its own key": (room) => list(room, 8900, (i) => `{"k${i}":0}`),
  "objects of eight keys of their own": (room) => list(room, 1150, (i) => `{${ownKeys(i)}}`),
  "objects of one shape": (room) => list(room, 14_500, (i) => `{"id":${i},"a":"b","c":"d"}`),
  "long keys": (room) => `{${fill(`"${"k".repeat(200)}":0,`, room)}"z":0}`,
  "one key": (room) => `{"${fill("k", room)}":0}`,
  "one string": (room) => `"${fill("x", room)}"`,
  "one string of two-byte characters": (room) => `"${fill("é", room / 2)}"`,
  "one string of three-byte characters": (room) => `"${fill("日", room / 3)}"`,
  "one string of pairs": (room) => `"${fill("🙂", room / 2)}"`,
  "escaped quotes": (room) => `"${fill('\\"', room)}"`,
  "as many escaped quotes as pass": (room) =>
    `"${fill('\\"', 0.14 * room)}${fill("x", 0.86 * room)}"`,
  "escaped backslashes": (room) => `"${fill("\\\\", room)}"`,
  "escaped line breaks": (room) => `"${fill("\\n", room)}"`,
  "as many escaped line breaks as pass": (room) =>
    `"${fill("\\n", 0.14 * room)}${fill("x", 0.86 * room)}"`,
  "escaped letters": (room) => `"${fill("\\u0041", room)}"`,
  "escaped characters": (room) => `"${fill("\\u65e5", room)}"`,
  "halves of pairs": (room) => `"${fill("\\ud800", room)}"`,
  "a string never closed": (room) => `"${fill("x", room)}`,
  "backslashes never closed": (room) => `"${fill("\\", room)}`,
};

/**
 * Whole lines of about `size` bytes, those whose place is asked for: each a request by this id, where
 * it can be read at all.
 */
export function* denseMessages(
  size: number,
  isAsked: (place: number) => boolean,
): Generator<[name: string, id: string | null, line: Buffer]> {
  const room = size - 1000;
  for (const [name, params] of Object.entries(PARAMS).filter((_, place) => isAsked(place))) {
    // A text that is cheap enough to parse, and then is no JSON, says nothing for certain.
    const id = name === "a string never closed" ? null : "dense";
    yield [name, id, line(`${START}${params(room)}}`)];
  }
  const long = "x".repeat(room);
  yield ["a long method", "dense", line(`{"jsonrpc":"2.0","id":"dense","method":"${long}"}`)];
  yield ["a long id", null, line(`{"jsonrpc":"2.0","id":"${long}","method":"no"}`)];
  yield ["a batch of numbers", null, line(`[${fill("1,", room)}1]`)];
  yield ["a batch of as many as pass", null, line(`[${"1,".repeat(1023)}1]`)];
}

function line(text: string): Buffer {
  return Buffer.from(`${text}\n`);
}

function fill(unit: string, room: number): string {
  return unit.repeat(Math.floor(room / unit.length));
}

/** A list of so many items, and a long string in what room is left. */
function list(room: number, count: number, item: (index: number) => string): string {
  const items = Array.from({ length: scaled(room, count) }, (_, index) => item(index)).join(",");
  return `[${items},"${fill("x", Math.max(0, room - items.length))}"]`;
}

function keys(room: number, count: number): string {
  const all = Array.from({ length: scaled(room, count) }, (_, index) => `"k${index}":0`).join(",");
  return `${all},"z":"${fill("x", Math.max(0, room - all.length))}"`;
}

function ownKeys(index: number): string {
  return Array.from({ length: 8 }, (_, at) => `"k${index}_${at}":0`).join(",");
}

/** A count that is meant for 10 MiB. */
function scaled(room: number, count: number): number {
  return Math.floor((count * room) / LARGEST);
}
