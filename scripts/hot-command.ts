import type { OnResolveResult, Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Puts one command into the same file as the program's shell. Whatever else would be imported when
 * needed is left outside, in the chunks that `chunkOf` knows by their source.
 */
export function hotCommand(
  root: string,
  command: string,
  chunkOf: (source: string) => string,
): Plugin {
  const table = join(root, "src/cli/commands.ts");
  const lazy = `import("./${command}.ts")`;
  return {
    name: "hot-command",
    setup(build) {
      build.onLoad({ filter: /[/\\]commands\.ts$/ }, async ({ path }) => {
        if (path !== table) return undefined;
        const source = await readFile(path, "utf8");
        if (!source.includes(lazy)) throw new Error(`Cannot find ${lazy} in ${path}`);
        const eager = source.replace(lazy, "Promise.resolve(hotCommand)");
        const contents = `import * as hotCommand from "./${command}.ts";\n${eager}`;
        return { contents, loader: "ts" };
      });
      build.onResolve({ filter: /^\.{1,2}\// }, ({ kind, path, resolveDir }) =>
        kind === "dynamic-import" ? outside(chunkOf(join(resolveDir, path))) : undefined,
      );
    },
  };
}

function outside(chunk: string): OnResolveResult {
  return { path: `./${chunk}`, external: true };
}
