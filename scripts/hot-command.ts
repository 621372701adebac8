import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Puts the code of one command into the same file as the program's shell, and makes a script of that.
 * `command` is one or two words: `mcp`, `review add`. Its code is in the file that the last of them
 * names, and its entry is in the table that `commands.ts` imports the first of them from.
 */
export async function hotCommand(root: string, command: string): Promise<Plugin> {
  const folder = join(root, "src/cli");
  const words = command.split(" ");
  const [first = ""] = words;
  const program = join(folder, "commands.ts");
  const imports = new RegExp(`import \\{[^}]*\\b${first}\\b[^}]*\\} from "(?<table>[^"]+)"`);
  const { table = "" } = imports.exec(await readFile(program, "utf8"))?.groups ?? {};
  if (table === "") throw new Error(`Cannot find where commands.ts imports '${first}' from`);
  const edits: Readonly<Record<string, (source: string) => string>> = {
    // The launcher has seen which command it is: the others are not looked for.
    [program]: (source) =>
      replaced(source, /\n {2}commands: \[[^\]]*\]/, `\n  commands: [${first}]`),
    [join(folder, table)]: (source) => {
      const path = `./${words.at(-1)}.ts`;
      const code = replaced(source, `import("${path}")`, "Promise.resolve(hotCommand)");
      return `import * as hotCommand from "${path}";\n${code}`;
    },
    // A script cannot wait at its top.
    [join(folder, "main.ts")]: (source) =>
      replaced(source, "await runProcess(run);", "void runProcess(run);"),
  };
  return {
    name: "hot-command",
    setup(build) {
      // Entries of other commands are not used any more: leave them out.
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
