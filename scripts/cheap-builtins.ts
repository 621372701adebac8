import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";

const LATER = /\bimport\(("node:[^"]+")\)/g;
const IMPORT = /^import \{([^}]*)\} from ("node:[^"]+");$/gm;

/**
 * Takes what our sources import from Node's own modules without making ES modules of those: that
 * evaluates all they have, and what `node:fs` has costs 5 ms at every start.
 */
export const cheapBuiltins: Plugin = {
  name: "cheap-builtins",
  setup(build) {
    build.onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, async ({ path }) => ({
      contents: (await readFile(path, "utf8"))
        .replace(IMPORT, take)
        .replace(LATER, "process.getBuiltinModule($1)"),
      loader: "ts",
    }));
  },
};

function take(_: string, names: string, module: string): string {
  const values = names
    .split(",")
    .map((name) => name.trim())
    .filter((name) => name !== "" && !name.startsWith("type "))
    .map((name) => name.replace(/ as /, ": "));
  return values.length === 0
    ? ""
    : `const { ${values.join(", ")} } = process.getBuiltinModule(${module});`;
}
