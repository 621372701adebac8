import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

/** How a message may lie in its bytes. */
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
