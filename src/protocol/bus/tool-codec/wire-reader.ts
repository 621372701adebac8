import type { JsonObject, JsonValue } from "@bufbuild/protobuf";

/** Texts up to here are read faster character by character. */
const SHORT = 32;

const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Something that is rare and has rules of its own, which the library knows. */
export class Unusual extends Error {}

/** Reads a Protobuf message whose bytes were checked before (wire-check.ts). */
export class WireReader {
  readonly #bytes: Uint8Array;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  get at(): number {
    return this.#at;
  }

  /** Where the part ends whose length comes next. */
  end(): number {
    const length = this.varint();
    return this.#at + length;
  }

  /** A number of at most 32 bits, such as that of a field with its wire type. */
  varint(): number {
    let value = 0;
    for (let shift = 0; shift < 35; shift += 7) {
      const byte = this.#bytes[this.#at++] ?? 0;
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return value >>> 0;
    }
    throw new Unusual();
  }

  text(): string {
    const length = this.varint();
    const start = this.#at;
    this.#at += length;
    if (length <= SHORT) {
      let text = "";
      let at = start;
      for (; at < this.#at; at++) {
        const code = this.#bytes[at] ?? 0;
        if (code >= 0x80) break;
        text += String.fromCharCode(code);
      }
      if (at === this.#at) return text;
    }
    return decoder.decode(this.#bytes.subarray(start, this.#at));
  }

  /** google.protobuf.Struct */
  struct(): JsonObject {
    return this.#members(this.end());
  }

  #members(end: number): JsonObject {
    const object: JsonObject = {};
    while (this.#at < end) {
      this.#expect(MEMBER);
      const memberEnd = this.end();
      this.#expect(KEY);
      const name = this.text();
      this.#expect(VALUE);
      const value = this.#value(this.end());
      if (this.#at !== memberEnd) throw new Unusual();
      if (name !== "__proto__") object[name] = value;
      else Object.defineProperty(object, name, { value, ...PLAIN });
    }
    return object;
  }

  /** google.protobuf.Value */
  #value(end: number): JsonValue {
    const value = this.#oneOf(this.varint());
    if (this.#at !== end) throw new Unusual();
    return value;
  }

  #oneOf(tag: number): JsonValue {
    switch (tag) {
      case 0x08:
        if (this.varint() !== 0) throw new Unusual();
        return null;
      case 0x11:
        return this.#double();
      case 0x1a:
        return this.text();
      case 0x20:
        return this.varint() !== 0;
      case 0x2a:
        return this.struct();
      case 0x32:
        return this.#list(this.end());
      default:
        throw new Unusual();
    }
  }

  #list(end: number): JsonValue[] {
    const list: JsonValue[] = [];
    while (this.#at < end) {
      this.#expect(MEMBER);
      list.push(this.#value(this.end()));
    }
    return list;
  }

  #double(): number {
    const { buffer, byteOffset } = this.#bytes;
    const value = new DataView(buffer, byteOffset + this.#at, 8).getFloat64(0, true);
    this.#at += 8;
    return value;
  }

  #expect(tag: number): void {
    if (this.#bytes[this.#at++] !== tag) throw new Unusual();
  }
}

const PLAIN = { enumerable: true, configurable: true, writable: true };

/** Field 1, as are the items of a list. */
const MEMBER = 0x0a;
const KEY = 0x0a;
const VALUE = 0x12;
