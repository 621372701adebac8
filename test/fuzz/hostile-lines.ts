import type { SeededRandom } from "../support/seeded-random.ts";

const VALID = [
  `{"jsonrpc":"2.0","id":1,"method":"now","params":{"text":"é🙂"}}`,
  `{"jsonrpc":"2.0","id":"a","method":"later","params":{"a":[1,2.5e3,null,true]}}`,
  `{"jsonrpc":"2.0","id":-3,"method":"fail","params":{"a":{"b":"c"}}}`,
  `{"jsonrpc":"2.0","method":"later"}`,
  `{"jsonrpc":"2.0","method":"$/cancel","params":{"requestId":"a"}}`,
  `{"jsonrpc":"2.0","id":7,"result":{"ok":true}}`,
  `{"jsonrpc":"2.0","id":8,"error":{"code":-1,"message":"no"}}`,
  `[{"jsonrpc":"2.0","id":9,"method":"later"},{"jsonrpc":"2.0","id":10,"method":"now"},5]`,
];

/** Texts that parsers and those behind them stumble over. */
const TOKENS = [
  `"__proto__":{"polluted":1},`,
  `"constructor":{"prototype":{"polluted":1}},`,
  `"id":`,
  `"id":null,`,
  `"\\u0069d":`,
  `"method":"now",`,
  `"params":null,`,
  `"result":0,`,
  "1e999",
  "-0",
  "12345678901234567890",
  "0x10",
  "NaN",
  "null",
  `"\\ud800"`,
  `"\\u0000"`,
  "\\",
  '"',
  "{",
  "}",
  "[",
  "]",
  ",",
  ":",
  "\r",
  "\u{feff}",
  "\u{2028}",
  "\n",
];

const VALUES = [
  null,
  true,
  0,
  -1,
  1.5,
  2 ** 53,
  1e300,
  "",
  "a",
  "__proto__",
  "constructor",
  "toString",
  "\0",
  "\ud800",
  "é🙂",
  "x".repeat(300),
  [],
  {},
  [[]],
  { requestId: "a" },
  { text: "x" },
  { text: 5 },
  { a: 5 },
];

/** Lines to throw at a peer: valid messages, broken ones, wrong types everywhere, plain noise. */
export function hostileLines(random: SeededRandom, count: number): Buffer {
  const lines = Array.from({ length: count }, () => {
    const line = hostileLine(random);
    return random.once(20) ? Buffer.concat([line, Buffer.from("\r\n")]) : line;
  });
  return Buffer.concat(lines.flatMap((line) => [line, Buffer.from("\n")]));
}

function hostileLine(random: SeededRandom): Buffer {
  switch (random.below(5)) {
    case 0:
      return mutated(random, Buffer.from(random.pick(VALID)));
    case 1:
      return Buffer.from(spliced(random, random.pick(VALID)));
    case 2:
      return Buffer.from(JSON.stringify(wrongTypes(random)));
    case 3:
      return random.once(4) ? random.bytes(random.below(80)) : nested(random);
    default:
      return Buffer.from(random.pick(VALID));
  }
}

/** Some bytes are lost, changed, added or repeated. */
function mutated(random: SeededRandom, original: Buffer): Buffer {
  let bytes = original;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const at = random.below(bytes.length + 1);
    const end = at + random.below(8);
    const middle = random.pick([
      Buffer.alloc(0),
      random.bytes(1 + random.below(3)),
      bytes.subarray(at, end + random.below(30)),
    ]);
    bytes = Buffer.concat([bytes.subarray(0, at), middle, bytes.subarray(end)]);
  }
  return bytes;
}

/** Tokens are put in, mostly where they fit. */
function spliced(random: SeededRandom, original: string): string {
  let text = original;
  for (let times = 1 + random.below(3); times > 0; times--) {
    const fits = [...text.matchAll(/[{,:]/g)].map(({ index }) => index + 1);
    const at = random.once(4) ? random.below(text.length) : random.pick(fits);
    text = text.slice(0, at) + random.pick(TOKENS) + text.slice(at);
  }
  return text;
}

function wrongTypes(random: SeededRandom): unknown {
  const names = ["jsonrpc", "id", "method", "params", "result", "error", "__proto__", "extra"];
  const message: Record<string, unknown> = Object.create(null);
  for (const name of names) if (!random.once(3)) message[name] = random.pick(VALUES);
  if (!random.once(4)) message.jsonrpc = "2.0";
  if (!random.once(4)) message.method = random.pick(["now", "later", "fail", "$/cancel", "no"]);
  if (random.once(2)) {
    delete message.result;
    delete message.error;
  }
  return random.once(8) ? [message, message] : message;
}

/** Deep, but short enough to be parsed unseen. */
function nested(random: SeededRandom): Buffer {
  const depth = 1 + random.below(400);
  const [open, close] = random.pick([
    ["[", "]"],
    [`{"a":`, "}"],
    [`[{"__proto__":`, "}]"],
  ]);
  const inner = `${open.repeat(depth)}0${close.repeat(random.once(3) ? depth - 1 : depth)}`;
  return Buffer.from(`{"jsonrpc":"2.0","id":"deep","method":"later","params":[${inner}]}`);
}
