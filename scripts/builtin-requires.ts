import type { Plugin } from "esbuild";
import { isBuiltin } from "node:module";

const NAMESPACE = "builtin";

/**
 * Lets CommonJS packages that require("node:…") run inside an ES module bundle, where there is no
 * `require`. A banner with `createRequire` would work too, but would slow down every chunk at every start.
 */
export const builtinRequires: Plugin = {
  name: "builtin-requires",
  setup(build) {
    build.onResolve({ filter: /./ }, ({ kind, path }) =>
      kind === "require-call" && isBuiltin(path) ? { path, namespace: NAMESPACE } : undefined,
    );
    build.onLoad({ filter: /./, namespace: NAMESPACE }, ({ path }) => ({
      contents: `module.exports = process.getBuiltinModule(${JSON.stringify(path)});`,
    }));
  },
};
