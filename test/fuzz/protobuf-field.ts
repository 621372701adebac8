/** A field of bytes, as Protobuf writes it. */
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
