import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";

/** Levels of nesting in JSON that the bus carries, as many as in other messages. */
export const MAX_DEPTH = 256;
/**
 * Objects, keys and list items of one message. A byte or two can stand for an object that takes a
 * hundred times as much once it is parsed, and parsing it must not block other requests.
 */
const MAX_PARTS = 100_000;
/** A key costs as much as several values: it is a text, and is looked up among all others. */
const KEY = 3;

/** A message is nested too deeply, or has too many parts. */
export class WireLimitError extends Error {}

/**
 * Checks the bytes of a message before they are parsed, because the parser trusts them: it ignores the
 * wire type of a field, reads beyond the end of a nested message, and merges a message that is given
 * twice, which takes longer each time. Returns the number of parts.
 */
export function checkWire(message: DescMessage, bytes: Uint8Array): number {
  const check = new WireCheck(bytes);
  check.message(shapeOf(message), bytes.length, 0);
  return check.parts;
}

class WireCheck {
  readonly #reader: BinaryReader;
  parts = 0;

  constructor(bytes: Uint8Array) {
    this.#reader = new BinaryReader(bytes);
  }

  message({ name, isNesting, fields }: WireShape, end: number, depth: number): void {
    const reader = this.#reader;
    const level = isNesting ? depth + 1 : depth;
    if (level > MAX_DEPTH) {
      throw new WireLimitError(`it is nested more than ${MAX_DEPTH} levels deep`);
    }
    const seen = new Set<WireField>();
    while (reader.pos < end) {
      const [number, wire] = reader.tag();
      const here = `field ${number} of ${name}`;
      const field = fields.get(number);
      if (wire !== (field?.wire ?? wire) || GROUP.includes(wire)) {
        throw new Error(`${here} has wire type ${wire}`);
      }
      if (field?.isSingle === true && seen.has(field)) throw new Error(`${here} is there twice`);
      if (field?.isSingle === true) seen.add(field);
      this.#charge(field?.parts ?? 1);
      if (field?.shape !== undefined) {
        const length = reader.uint32();
        if (length > end - reader.pos) throw new Error(`it ends inside ${here}`);
        this.message(field.shape, reader.pos + length, level);
        continue;
      }
      const start = reader.pos;
      // Unlike `skip`, this refuses a number of more than 64 bits.
      if (wire === WireType.Varint) reader.uint64();
      else reader.skip(wire);
      if (reader.pos > end) throw new Error(`it ends inside ${here}`);
      if (field?.isDouble === true) {
        reader.pos = start;
        if (!Number.isFinite(reader.double())) {
          throw new Error("a number is not finite, which JSON cannot express");
        }
      }
    }
    if (reader.pos > end) throw new Error(`it ends inside ${name}`);
  }

  #charge(parts: number): void {
    this.parts += parts;
    if (this.parts > MAX_PARTS) {
      throw new WireLimitError(`it is made of more than ${MAX_PARTS} parts`);
    }
  }
}

/** Obsolete in protobuf: no message of the bus has them. */
const GROUP = [WireType.StartGroup, WireType.EndGroup];

/** How a message is encoded. */
interface WireShape {
  readonly name: string;
  readonly fields: Map<number, WireField>;
  /** One level of JSON: an object or a list. */
  readonly isNesting: boolean;
}

interface WireField {
  readonly wire: WireType;
  /** What is inside, if it is a message. */
  readonly shape?: WireShape;
  /** A message that may be there only once. */
  readonly isSingle?: boolean;
  /** How many parts of a message each counts as: an object, or a place in a list, is one. */
  readonly parts: number;
  /** A number of JSON, which has no NaN and no infinity. */
  readonly isDouble?: boolean;
}

const NESTING = ["google.protobuf.Struct", "google.protobuf.ListValue"];
const shapes = new Map<string, WireShape>();

function shapeOf({ typeName, name, fields }: DescMessage): WireShape {
  const known = shapes.get(typeName);
  if (known !== undefined) return known;
  const shape = {
    name,
    fields: new Map<number, WireField>(),
    isNesting: NESTING.includes(typeName),
  };
  // Stored before its fields are read: a list of JSON can hold lists.
  shapes.set(typeName, shape);
  for (const field of fields) shape.fields.set(field.number, wireField(field));
  return shape;
}

const DELIMITED = { wire: WireType.LengthDelimited, parts: 1 } as const;

function wireField(field: DescField): WireField {
  switch (field.fieldKind) {
    case "scalar":
      return scalarField(field.scalar);
    case "enum":
      return scalarField(ScalarType.INT32);
    case "message":
      return { ...DELIMITED, isSingle: true, shape: shapeOf(field.message) };
    case "map":
      return { ...DELIMITED, parts: KEY, shape: entryOf(field) };
    case "list":
      // The schema has no lists beside those of messages and texts. Packed numbers would be refused.
      return field.listKind === "message"
        ? { ...DELIMITED, shape: shapeOf(field.message) }
        : DELIMITED;
  }
}

/** A member of a map is a message of a key and a value. */
function entryOf(field: DescField & { fieldKind: "map" }): WireShape {
  const value: WireField =
    field.mapKind === "message"
      ? { ...DELIMITED, isSingle: true, shape: shapeOf(field.message) }
      : scalarField(field.mapKind === "enum" ? ScalarType.INT32 : field.scalar);
  const fields = new Map([
    [1, scalarField(field.mapKey)],
    [2, value],
  ]);
  return { name: `${field.parent.name}.${field.name}`, fields, isNesting: false };
}

const WIRE_TYPES = new Map<ScalarType, WireType>([
  [ScalarType.STRING, WireType.LengthDelimited],
  [ScalarType.BYTES, WireType.LengthDelimited],
  [ScalarType.DOUBLE, WireType.Bit64],
  [ScalarType.FIXED64, WireType.Bit64],
  [ScalarType.SFIXED64, WireType.Bit64],
  [ScalarType.FLOAT, WireType.Bit32],
  [ScalarType.FIXED32, WireType.Bit32],
  [ScalarType.SFIXED32, WireType.Bit32],
]);

function scalarField(scalar: ScalarType): WireField {
  const wire = WIRE_TYPES.get(scalar) ?? WireType.Varint;
  return { wire, parts: 0, isDouble: scalar === ScalarType.DOUBLE };
}
