import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

/** Levels of nesting in JSON that the bus carries, as many as in other messages. */
export const MAX_DEPTH = 256;
/**
 * Objects, keys and list items of one message. A byte or two can stand for an object that takes a
 * hundred times as much once it is read, and reading it must not hold up everybody else.
 */
const MAX_PARTS = 100_000;

/** Why bytes are not a valid message. */
export class WireProblem extends Error {
  readonly kind: "malformed" | "limit";

  constructor(kind: WireProblem["kind"], says: string) {
    super(says);
    this.kind = kind;
  }
}

/**
 * Checks the bytes of a message before they are parsed, because the parser trusts them: it ignores the
 * wire type of a field, reads beyond the end of a nested message, and merges a message that is given
 * twice, which takes longer each time. Returns the number of parts.
 */
export function checkWire(shape: WireShape, bytes: Uint8Array): number {
  const check = new WireCheck(bytes);
  check.message(shape, bytes.length, 0);
  return check.parts;
}

class WireCheck {
  readonly #bytes: Uint8Array;
  #at = 0;
  #parts = MAX_PARTS;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get parts(): number {
    return MAX_PARTS - this.#parts;
  }

  message(shape: WireShape, end: number, depth: number): void {
    const level = shape.isNesting ? depth + 1 : depth;
    if (level > MAX_DEPTH) throw tooMuch(`it is nested more than ${MAX_DEPTH} levels deep`);
    let seen = 0;
    while (this.#at < end) {
      const tag = this.#number(end, shape);
      const number = tag >>> 3;
      if (number === 0) throw malformed(`${shape.name} has a field 0`);
      const wire: WireType = tag & 7;
      const field = shape.fields[number];
      if (field === undefined) {
        this.#charge(1);
        this.#skipValue(shape, number, wire, end);
        continue;
      }
      if (wire !== field.wire) throw malformed(`${name(shape, number)} has wire type ${wire}`);
      if ((seen & field.once) !== 0) throw malformed(`${name(shape, number)} is there twice`);
      seen |= field.once;
      if (field.parts > 0) this.#charge(field.parts);
      if (field.shape === undefined) {
        this.#skipValue(shape, number, wire, end);
        if (field.isNumber && !this.#isFinite()) {
          throw malformed("a number is not finite, which JSON cannot say");
        }
        continue;
      }
      const length = this.#number(end, shape);
      if (length > end - this.#at) throw malformed(`it ends inside ${name(shape, number)}`);
      this.message(field.shape, this.#at + length, level);
    }
  }

  #skipValue(shape: WireShape, number: number, wire: WireType, end: number): void {
    switch (wire) {
      case WireType.Varint:
        this.#skipVarint(end, shape);
        return;
      case WireType.Bit64:
        this.#at += 8;
        break;
      case WireType.Bit32:
        this.#at += 4;
        break;
      case WireType.LengthDelimited: {
        const length = this.#number(end, shape);
        this.#at += length;
        break;
      }
      case WireType.StartGroup:
      case WireType.EndGroup:
      default:
        throw malformed(`${name(shape, number)} has wire type ${wire}`);
    }
    if (this.#at > end) throw malformed(`it ends inside ${name(shape, number)}`);
  }

  /** Of the 64-bit number just passed: little-endian, the exponent in its last bytes. */
  #isFinite(): boolean {
    const high = this.#bytes[this.#at - 1] ?? 0;
    const low = this.#bytes[this.#at - 2] ?? 0;
    return (high & 0x7f) !== 0x7f || (low & 0xf0) !== 0xf0;
  }

  #charge(parts: number): void {
    this.#parts -= parts;
    if (this.#parts < 0) throw tooMuch(`it is made of more than ${MAX_PARTS} parts`);
  }

  /** A number that says how long something is, or which field it is: of 32 bits. */
  #number(end: number, shape: WireShape): number {
    const first = this.#byte(end, shape);
    if (first < 0x80) return first;
    let value = first & 0x7f;
    for (let factor = 0x80; factor <= 0x1000_0000; factor *= 0x80) {
      const byte = this.#byte(end, shape);
      value += (byte & 0x7f) * factor;
      if (byte < 0x80 && value <= 0xffff_ffff) return value;
    }
    throw malformed(`${shape.name} has a number of more than 32 bits`);
  }

  #skipVarint(end: number, shape: WireShape): void {
    for (let count = 0; count < 10; count++) {
      if (this.#byte(end, shape) < 0x80) return;
    }
    throw malformed(`${shape.name} has a number of more than 64 bits`);
  }

  #byte(end: number, shape: WireShape): number {
    if (this.#at >= end) throw malformed(`it ends inside ${shape.name}`);
    return this.#bytes[this.#at++] ?? 0;
  }
}

function malformed(says: string): WireProblem {
  return new WireProblem("malformed", says);
}

function tooMuch(says: string): WireProblem {
  return new WireProblem("limit", says);
}

function name(shape: WireShape, number: number): string {
  return `field ${number} of ${shape.name}`;
}

/** How a message is encoded. */
export interface WireShape {
  readonly name: string;
  /** By number. */
  readonly fields: readonly (WireField | undefined)[];
  /** One level of JSON: an object or a list. */
  readonly isNesting: boolean;
}

export interface WireField {
  readonly wire: WireType;
  /** What is inside, if it is a message. */
  readonly shape?: WireShape;
  /** Not 0 for what may be there once; a bit of its own. */
  readonly once: number;
  /** How many parts of a message each counts as: an object, or a place in a list, is one. */
  readonly parts: number;
  /** A number of JSON, which has no NaN and no infinity. */
  readonly isNumber: boolean;
}

/** A key costs as much as several values: it is a text, and is looked up among all others. */
const KEY = 3;

const NESTING = ["google.protobuf.Struct", "google.protobuf.ListValue"];
const shapes = new Map<string, WireShape>();

export function shapeOf(message: DescMessage): WireShape {
  const known = shapes.get(message.typeName);
  if (known !== undefined) return known;
  const fields: (WireField | undefined)[] = [];
  const isNesting = NESTING.includes(message.typeName);
  const shape: WireShape = { name: message.name, fields, isNesting };
  // Before its fields: a list of JSON can hold lists.
  shapes.set(message.typeName, shape);
  let bit = 1;
  for (const field of message.fields) {
    const isOnce = field.fieldKind === "message";
    fields[field.number] = wireField(field, isOnce ? bit : 0);
    if (isOnce) bit <<= 1;
  }
  return shape;
}

function wireField(field: DescField, once: number): WireField {
  const plain = { once, parts: 0, isNumber: false };
  switch (field.fieldKind) {
    case "scalar":
      return { ...plain, wire: wireOf(field.scalar), isNumber: isDouble(field.scalar) };
    case "enum":
      return { ...plain, wire: WireType.Varint };
    case "message":
      return { ...plain, ...delimited, shape: shapeOf(field.message) };
    case "map":
      return { ...plain, ...delimited, parts: KEY, shape: entryOf(field) };
    case "list":
      if (field.listKind === "message") {
        return { ...plain, ...delimited, shape: shapeOf(field.message) };
      }
      // The schema has no other lists than of texts; numbers could be packed, and would be refused.
      return { ...plain, ...delimited };
  }
}

const delimited = { wire: WireType.LengthDelimited, parts: 1 } as const;

/** A member of a map is a message of a key and a value. */
function entryOf(field: DescField & { fieldKind: "map" }): WireShape {
  const plain = { once: 0, parts: 0, isNumber: false };
  const value: WireField =
    field.mapKind === "message"
      ? { ...plain, ...delimited, once: 1, shape: shapeOf(field.message) }
      : { ...plain, wire: field.mapKind === "enum" ? WireType.Varint : wireOf(field.scalar) };
  const key: WireField = { ...plain, wire: wireOf(field.mapKey) };
  return {
    name: `${field.parent.name}.${field.name}`,
    fields: [undefined, key, value],
    isNesting: false,
  };
}

function isDouble(scalar: ScalarType): boolean {
  return scalar === ScalarType.DOUBLE;
}

function wireOf(scalar: ScalarType): WireType {
  switch (scalar) {
    case ScalarType.STRING:
    case ScalarType.BYTES:
      return WireType.LengthDelimited;
    case ScalarType.DOUBLE:
    case ScalarType.FIXED64:
    case ScalarType.SFIXED64:
      return WireType.Bit64;
    case ScalarType.FLOAT:
    case ScalarType.FIXED32:
    case ScalarType.SFIXED32:
      return WireType.Bit32;
    case ScalarType.INT32:
    case ScalarType.INT64:
    case ScalarType.UINT32:
    case ScalarType.UINT64:
    case ScalarType.SINT32:
    case ScalarType.SINT64:
    case ScalarType.BOOL:
      return WireType.Varint;
  }
}
