import type { Plugin } from "esbuild";
import { join } from "node:path";

/** Leaves what is imported when needed outside the file, in the chunk that `chunkOf` names. */
export function lazyOutside(chunkOf: (source: string) => string): Plugin {
  return {
    name: "lazy-outside",
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) =>
        kind === "dynamic-import"
          ? { path: `./${chunkOf(join(resolveDir, path))}`, external: true }
          : undefined,
      );
    },
  };
}
