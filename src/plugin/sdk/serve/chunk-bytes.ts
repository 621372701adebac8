const TEXT = "text/plain; charset=utf-8";
const BINARY = "application/octet-stream";

/** What a tool yielded, as the bus has it. */
export function chunkBytes(chunk: unknown): {
  readonly data: Uint8Array;
  readonly contentType: string;
} {
  if (typeof chunk === "string") return { data: Buffer.from(chunk), contentType: TEXT };
  if (chunk instanceof Uint8Array) return { data: chunk, contentType: BINARY };
  const kind = chunk === null ? "null" : typeof chunk;
  throw new TypeError(`The tool yielded a value of type ${kind}. Yield texts or Uint8Arrays`);
}
