import { TrunklineError } from "../../base/errors.ts";
import type { ServerGit } from "../../git/server/server-git.ts";

/** Bytes of objects that one call of git reads. */
const BATCH = 16 * 1024 * 1024;
/** The longest line that git writes before an object, in bytes. */
const HEADER = 128;

/** The sizes of objects in bytes, in the order of the objects. */
export async function sizesOf(git: ServerGit, objects: readonly string[]): Promise<number[]> {
  if (objects.length === 0) return [];
  const input = `${objects.join("\n")}\n`;
  const listed = await git.text(["cat-file", "--batch-check=%(objectsize)"], { input });
  return listed.split("\n").map(Number);
}

/** Reads the objects of entries, in the order of the entries. */
export async function* readObjects<E extends { readonly object: string }>(
  git: ServerGit,
  entries: readonly E[],
): AsyncGenerator<readonly [E, Buffer]> {
  const sizes = await sizesOf(
    git,
    entries.map(({ object }) => object),
  );
  for (let from = 0, to = 0; from < entries.length; from = to) {
    let bytes = 0;
    while (to < entries.length && (to === from || bytes + (sizes[to] ?? 0) < BATCH)) {
      bytes += (sizes[to++] ?? 0) + HEADER;
    }
    const batch = entries.slice(from, to);
    const input = batch.map(({ object }) => `${object}\n`).join("");
    const { stdout } = await git.run(["cat-file", "--batch"], { input, maxOutput: bytes });
    let at = 0;
    for (const entry of batch) {
      const start = stdout.indexOf("\n", at) + 1;
      // git-cat-file(1), "BATCH OUTPUT": `<oid> <type> <size>`, the object, and an end of line.
      const [, size] = / blob (\d+)\n$/.exec(stdout.toString("latin1", at, start)) ?? [];
      if (size === undefined) {
        throw new TrunklineError("unavailable", `Cannot read the object '${entry.object}'.`);
      }
      const end = start + Number(size);
      yield [entry, stdout.subarray(start, end)];
      at = end + 1;
    }
  }
}
