import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { WireType } from "@bufbuild/protobuf/wire";

const FIRST_SIZE = 64 * 1024;
/** A larger buffer is not kept for the next message. */
const LARGEST_KEPT = 1024 * 1024;
/** Texts up to here are written faster character by character. */
const SHORT = 32;

/**
 * Writes a Protobuf message from its end to its beginning, so that the length of each part is known
 * when it is written, and nothing is measured before or moved afterwards. Fields are given last first.
 */
export class WireWriter {
  #bytes = Buffer.allocUnsafeSlow(FIRST_SIZE);
  #at = FIRST_SIZE;

  /** How much was written; a part is as long as the difference to what was written before it. */
  get length(): number {
    return this.#bytes.length - this.#at;
  }

  /** A copy of what was written, after so many bytes of room. The writer begins anew. */
  finish(room: number): Buffer {
    const frame = Buffer.allocUnsafe(room + this.length);
    this.#bytes.copy(frame, room, this.#at);
    this.reset();
    return frame;
  }

  reset(): void {
    if (this.#bytes.length > LARGEST_KEPT) this.#bytes = Buffer.allocUnsafeSlow(FIRST_SIZE);
    this.#at = this.#bytes.length;
  }

  /** A text. Proto3 leaves an empty one out. */
  text(field: number, text: string | undefined): void {
    if (text !== undefined && text !== "") this.#text(field, text);
  }

  /** Proto3 leaves false out. */
  flag(field: number, isSet: boolean | undefined): void {
    if (isSet !== true) return;
    this.#varint(1);
    this.#tag(field, WireType.Varint);
  }

  /** google.protobuf.Struct */
  struct(field: number, object: JsonObject | undefined): void {
    if (object === undefined) return;
    const before = this.length;
    this.#members(object);
    this.close(field, before);
  }

  /** Makes a part of what was written since there were so many bytes. */
  close(field: number, before: number): void {
    this.#varint(this.length - before);
    this.#tag(field, WireType.LengthDelimited);
  }

  #members(object: JsonObject): void {
    const names = Object.keys(object);
    for (let index = names.length - 1; index >= 0; index--) {
      const name = names[index] ?? "";
      const value = object[name];
      // As JSON has it. The library writes a value of no kind, which protobuf does not allow.
      if (value === undefined) continue;
      const before = this.length;
      this.#value(2, value);
      this.#text(1, name);
      this.close(1, before);
    }
  }

  /** google.protobuf.Value */
  #value(field: number, value: JsonValue | undefined): void {
    const before = this.length;
    switch (typeof value) {
      case "string":
        this.#text(3, value);
        break;
      case "number":
        this.#double(2, value);
        break;
      case "boolean":
        this.#varint(value ? 1 : 0);
        this.#tag(4, WireType.Varint);
        break;
      case "object":
        this.#container(value);
        break;
      case "undefined":
      case "bigint":
      case "symbol":
      case "function":
        throw new TypeError(`a ${typeof value} is no value of JSON`);
    }
    this.close(field, before);
  }

  #container(value: JsonObject | JsonValue[] | null): void {
    const before = this.length;
    if (value === null) {
      this.#varint(0);
      this.#tag(1, WireType.Varint);
    } else if (Array.isArray(value)) {
      for (let index = value.length - 1; index >= 0; index--) this.#value(1, value[index]);
      this.close(6, before);
    } else {
      this.#members(value);
      this.close(5, before);
    }
  }

  #text(field: number, text: string): void {
    const before = this.length;
    if (text.length > SHORT || !this.#ascii(text)) {
      const size = Buffer.byteLength(text);
      this.#makeRoom(size);
      this.#at -= size;
      this.#bytes.write(text, this.#at, size);
    }
    this.close(field, before);
  }

  /** Writes a text of ASCII. Returns false and writes nothing if it is another one. */
  #ascii(text: string): boolean {
    this.#makeRoom(text.length);
    const start = this.#at - text.length;
    for (let index = 0; index < text.length; index++) {
      const code = text.charCodeAt(index);
      if (code >= 0x80) return false;
      this.#bytes[start + index] = code;
    }
    this.#at = start;
    return true;
  }

  #double(field: number, value: number): void {
    this.#makeRoom(8);
    this.#at -= 8;
    this.#bytes.writeDoubleLE(value, this.#at);
    this.#tag(field, WireType.Bit64);
  }

  #tag(field: number, type: WireType): void {
    this.#varint((field << 3) | type);
  }

  #varint(value: number): void {
    this.#makeRoom(5);
    let size = 1;
    for (let rest = value >>> 7; rest > 0; rest >>>= 7) size++;
    this.#at -= size;
    let at = this.#at;
    for (; value >= 0x80; value >>>= 7) this.#bytes[at++] = (value & 0x7f) | 0x80;
    this.#bytes[at] = value;
  }

  #makeRoom(size: number): void {
    if (this.#at >= size) return;
    const { length } = this;
    const larger = Buffer.allocUnsafeSlow(2 * (length + size));
    this.#bytes.copy(larger, larger.length - length, this.#at);
    this.#bytes = larger;
    this.#at = larger.length - length;
  }
}
