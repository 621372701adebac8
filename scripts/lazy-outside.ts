import type { Plugin } from "esbuild";
import { join } from "node:path";

const NAMESPACE = "outside";

/** Keeps dynamic imports out of a script: they load the chunk that `chunkOf` names. */
export function lazyOutside(chunkOf: (source: string) => string): Plugin {
  return {
    name: "lazy-outside",
    setup(build) {
      build.onResolve({ filter: /^\.{1,2}\// }, ({ kind, namespace, path, resolveDir }) => {
        if (namespace === NAMESPACE) return { path, external: true };
        if (kind !== "dynamic-import") return undefined;
        const chunk = chunkOf(join(resolveDir, path));
        return { path: chunk.replace(/\.\w+$/, ""), namespace: NAMESPACE, pluginData: chunk };
      });
      // The launcher has its own `require`, which loads scripts and modules.
      build.onLoad({ filter: /./, namespace: NAMESPACE }, ({ pluginData: chunk }) => ({
        contents: `module.exports = require(${JSON.stringify(`./${chunk as string}`)});`,
      }));
    },
  };
}
