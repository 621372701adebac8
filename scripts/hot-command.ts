import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Puts one command into the same file as the program's shell. */
export function hotCommand(root: string, command: string): Plugin {
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
    },
  };
}
