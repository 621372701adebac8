import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Puts one command into the same file as the program's shell, and makes a script of that. One of two
 * words is under another: its code is in the file that they name together.
 */
export function hotCommand(root: string, command: string): Plugin {
  const folder = join(root, "src/cli");
  const [first = "", second] = command.split(" ");
  const file = command.replace(" ", "-");
  // The launcher has seen which command it is: the others are not looked for.
  const alone = (source: string): string =>
    replaced(source, /\n {2}commands: \[[^\]]*\]/, `\n  commands: [${first}]`);
  const eager = (source: string): string => {
    const path = new RegExp(`import\\("([^"]*/${file}\\.ts)"\\)`).exec(source)?.[1];
    if (path === undefined) throw new Error(`Cannot find the import of ${file}.ts in the sources`);
    const code = source.replace(`import("${path}")`, "Promise.resolve(hotCommand)");
    return `import * as hotCommand from "${path}";\n${code}`;
  };
  const edits: Readonly<Record<string, (source: string) => string>> = {
    [join(folder, "commands.ts")]: (source) =>
      second === undefined ? eager(alone(source)) : alone(source),
    [join(folder, first, `${first}-command.ts`)]: eager,
    // A script cannot wait at its top.
    [join(folder, "main.ts")]: (source) =>
      replaced(source, "await runProcess(run);", "void runProcess(run);"),
  };
  return {
    name: "hot-command",
    setup(build) {
      // Those of the other commands, which nothing needs any more.
      build.onResolve({ filter: /-command\.ts$/ }, ({ path, resolveDir }) => ({
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
