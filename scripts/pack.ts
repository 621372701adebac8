import { createHash } from "node:crypto";

export interface Pack {
  /** Contains the hash of the bytes. */
  readonly name: string;
  readonly bytes: Uint8Array;
}

/**
 * Puts all modules into one file, which a running program holds open. The launcher reads it: the length
 * of the index in four bytes, the index with the offset and the length of each module, the modules.
 */
export function packOf(modules: ReadonlyMap<string, Uint8Array>): Pack {
  let size = 0;
  const index = Array.from(modules, ([name, { length }]) => {
    const at = size;
    size += length;
    return [name, [at, length]];
  });
  const head = Buffer.from(JSON.stringify(index));
  const length = Buffer.alloc(4);
  length.writeUInt32BE(head.length);
  const bytes = Buffer.concat([length, head, ...modules.values()]);
  const hash = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  return { name: `code-${hash}.pack`, bytes };
}
