import { createHash } from "node:crypto";

/** Where a part begins, with its name ahead of it, and how many bytes it has without that. */
export type Place = readonly [at: number, length: number];

export interface Pack {
  readonly bytes: Uint8Array;
  /** Carries the hash of the bytes. */
  readonly name: string;
  /** Where the table of all places is. */
  readonly index: Place;
}

/**
 * Puts all code that is loaded when needed into one file. A running program holds that file open, so
 * whatever becomes of the package, it can load what it was started with. The launcher reads it.
 */
export function packOf(parts: ReadonlyMap<string, Uint8Array | string>): Pack {
  const pieces: Uint8Array[] = [];
  let size = 0;
  const add = (name: string, content: Uint8Array | string): Place => {
    const bytes = Buffer.from(content);
    // The name lets a reader see that it reads what it means to.
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
