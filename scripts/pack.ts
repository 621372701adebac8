import { createHash } from "node:crypto";

/** The offset of a part, including its name, and its length in bytes without the name. */
export type Place = readonly [at: number, length: number];

export interface Pack {
  readonly bytes: Uint8Array;
  /** Contains the hash of the bytes. */
  readonly name: string;
  /** The offset of the table of all parts. */
  readonly index: Place;
}

/**
 * Puts all code that is loaded on demand into one file. A running program holds that file open, so it
 * can load its own code even if the package is replaced. The launcher reads it.
 */
export function packOf(parts: ReadonlyMap<string, Uint8Array | string>): Pack {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (name: string, content: Uint8Array | string): Place => {
    const bytes = Buffer.from(content);
    // The name lets a reader verify that it reads the right part.
    const head = Buffer.from(`${name}\n`);
    const at = size;
    pieces.push(head, bytes);
    size += head.length + bytes.length;
    return [at, bytes.length];
  };
  const places = Array.from(parts, ([name, content]) => [name, add(name, content)]);
  const index = add("index", JSON.stringify(places));
  const bytes = Buffer.concat(pieces);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  return { bytes, name: `code-${hash}.pack`, index };
}
