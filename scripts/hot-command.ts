import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/** Puts one command into the same file as the program's shell, and makes a script of that. */
export function hotCommand(root: string, command: string): Plugin {
  const folder = join(root, "src/cli");
  const lazy = `import("./${command}.ts")`;
  const waiting = "process.exitCode = await run(process.argv.slice(2), process);";
  const edits: Readonly<Record<string, (source: string) => string>> = {
    // The launcher has seen which command it is: the others are not looked for.
    [join(folder, "commands.ts")]: (source) => {
      const alone = replaced(source, /\n {2}commands: \[[^\]]*\]/, `\n  commands: [${command}]`);
      const eager = replaced(alone, lazy, "Promise.resolve(hotCommand)");
      return `import * as hotCommand from "./${command}.ts";\n${eager}`;
    },
    // Needed with every configuration, and cheap as long as nothing calls it.
    [join(root, "src/gateway/config/check-layers.ts")]: (source) => {
      const eager = replaced(source, 'await import("./schema.gen.ts")', "schema");
      return `import * as schema from "./schema.gen.ts";\n${eager}`;
    },
    // A script cannot wait at its top.
    [join(folder, "main.ts")]: (source) => {
      const then = "run(process.argv.slice(2), process).then((code) => (process.exitCode = code));";
      return replaced(source, waiting, then);
    },
  };
  return {
    name: "hot-command",
    setup(build) {
      // Those of the other commands, which nothing needs any more.
      build.onResolve({ filter: /^\.\/commands\// }, ({ path, resolveDir }) => ({
        path: join(resolveDir, path),
        sideEffects: false,
      }));
      build.onLoad({ filter: /[/\\]src[/\\].*\.ts$/ }, async ({ path }) => {
        const edit = edits[path];
        if (edit === undefined) return undefined;
        return { contents: edit(await readFile(path, "utf8")), loader: "ts" };
      });
    },
  };
}

function replaced(source: string, text: string | RegExp, by: string): string {
  const edited = source.replace(text, by);
  if (edited === source) throw new Error(`Cannot find ${text} in the sources`);
  return edited;
}
