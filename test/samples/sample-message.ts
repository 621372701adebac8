import {
  create,
  type DescField,
  type DescMessage,
  type MessageInitShape,
  type MessageShape,
  ScalarType,
} from "@bufbuild/protobuf";

import { type Chance, sampleJson } from "./sample-json.ts";

const TEXTS = ["", "x", "storage.markdown", "naïve ☃", "𝄞", "a\u0000b", "x".repeat(300)];
const INTEGERS = [0n, 1n, -1n, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n)];

/** A message of a type with all that can be in it, by chance. */
export function sampleMessage<D extends DescMessage>(random: Chance, type: D): MessageShape<D> {
  const init: Record<string, unknown> = {};
  for (const field of type.fields) {
    if (field.oneof === undefined && !random.once(4)) init[field.localName] = sample(random, field);
  }
  for (const oneof of type.oneofs) {
    const field = random.pick(oneof.fields);
    init[oneof.localName] = { case: field.localName, value: sample(random, field) };
  }
  return create(type, init as MessageInitShape<D>);
}

function sample(random: Chance, field: DescField): unknown {
  const some = <T>(make: () => T): T[] => Array.from({ length: random.below(4) }, make);
  switch (field.fieldKind) {
    case "scalar":
      return sampleScalar(random, field.scalar);
    case "enum":
      return random.pick(field.enum.values).number;
    case "message":
      return sampleChild(random, field.message);
    case "list":
      return some(() =>
        field.listKind === "message" ? sampleChild(random, field.message) : random.pick(TEXTS),
      );
    case "map":
      return Object.fromEntries(some(() => [random.pick(TEXTS), random.pick(TEXTS)]));
  }
}

function sampleChild(random: Chance, type: DescMessage): unknown {
  return type.name === "Struct" ? sampleJson(random) : sampleMessage(random, type);
}

function sampleScalar(random: Chance, scalar: ScalarType): unknown {
  if (scalar === ScalarType.BOOL) return random.once(2);
  if (scalar === ScalarType.INT32) return random.below(2 ** 31) - 2 ** 30;
  if (scalar === ScalarType.INT64) return random.pick(INTEGERS);
  if (scalar === ScalarType.BYTES) return random.bytes(random.below(200));
  if (scalar === ScalarType.STRING) return random.pick(TEXTS);
  throw new Error(`No sample for scalar type ${scalar}`);
}
