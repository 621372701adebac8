import { isIPv4 } from "node:net";

/**
 * ASN.1 values in DER (X.690), as far as certificates need them. A library that does the same takes
 * a tenth of a second to load, and 25 ms for each certificate.
 */
export type Der = Buffer<ArrayBuffer>;

const SEQUENCE = 0x30;
const FIRST_OF_2050 = Date.UTC(2050, 0);

/** A value by its tag (X.690, 8.1). */
export function tagged(tag: number, ...content: readonly Uint8Array[]): Der {
  const bytes = Buffer.concat(content);
  if (bytes.length < 0x80) return Buffer.concat([Uint8Array.of(tag, bytes.length), bytes]);
  const hex = bytes.length.toString(16);
  const length = Buffer.from(hex.padStart(hex.length + (hex.length % 2), "0"), "hex");
  return Buffer.concat([Uint8Array.of(tag, 0x80 | length.length), length, bytes]);
}

export function sequence(...items: readonly Uint8Array[]): Der {
  return tagged(SEQUENCE, ...items);
}

/** From its bytes, which begin with one below 0x80: it is positive. */
export function integer(bytes: Uint8Array): Der {
  return tagged(0x02, bytes);
}

export function octets(bytes: Uint8Array): Der {
  return tagged(0x04, bytes);
}

export function bits(bytes: Uint8Array, unused = 0): Der {
  return tagged(0x03, Uint8Array.of(unused), bytes);
}

/** An object identifier (X.690, 8.19) from its numbers with dots between them. */
export function identifier(text: string): Der {
  const [first = 0, second = 0, ...others] = text.split(".").map(Number);
  const bytes = [40 * first + second, ...others].flatMap((number) => {
    const digits = [number & 0x7f];
    for (let rest = number >> 7; rest > 0; rest >>= 7) digits.unshift((rest & 0x7f) | 0x80);
    return digits;
  });
  return tagged(0x06, Uint8Array.from(bytes));
}

/** RFC 5280, 4.1.2.5: two digits of the year until 2049. */
export function time(date: number): Der {
  const digits = new Date(date).toISOString().replace(/\.\d+|[-:T]/g, "");
  const isShort = date < FIRST_OF_2050;
  return tagged(isShort ? 0x17 : 0x18, Buffer.from(isShort ? digits.slice(2) : digits, "latin1"));
}

/** The bytes of an address, four or sixteen. */
export function addressBytes(address: string): Der {
  if (isIPv4(address)) return Buffer.from(address.split(".").map(Number));
  // A URL has it in its shortest form, without an IPv4 address at its end.
  const short = new URL(`http://[${address}]`).hostname.slice(1, -1);
  const [head = [], tail = []] = short.split("::").map((half) => half.split(":").filter(Boolean));
  const groups = [...head, ...Array<string>(8 - head.length - tail.length).fill("0"), ...tail];
  return Buffer.from(groups.map((group) => group.padStart(4, "0")).join(""), "hex");
}

/** A value that was read: its tag, its content, and all its bytes. */
export interface DerValue {
  readonly tag: number;
  readonly content: Der;
  readonly whole: Der;
}

/** The values that follow each other in bytes that are known to be DER, such as those of a certificate. */
export function readValues(bytes: Der): DerValue[] {
  const values: DerValue[] = [];
  for (let at = 0; at < bytes.length;) {
    const tag = bytes.readUInt8(at);
    const short = bytes.readUInt8(at + 1);
    const more = short < 0x80 ? 0 : short & 0x7f;
    const length = more === 0 ? short : bytes.readUIntBE(at + 2, more);
    const begin = at + 2 + more;
    const whole = bytes.subarray(at, begin + length);
    values.push({ tag, content: bytes.subarray(begin, begin + length), whole });
    at = begin + length;
  }
  return values;
}
