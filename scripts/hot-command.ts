import type { Plugin } from "esbuild";
import { readFile } from "node:fs/promises";
import { join } from "node:path";

/**
 * Bundles one command with the program's shell into a script. `command` is one or two words: `mcp`,
 * `review add`. The last word is the name of the file with its handler; the first word is imported by
 * `commands.ts` from the table with its entry.
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
    // The launcher has already recognised the command, so the others are not needed.
    [program]: (source) =>
      replaced(source, /\n {2}commands: \[[^\]]*\]/, `\n  commands: [${first}]`),
    [join(folder, table)]: (source) => {
      const path = `./${words.at(-1)}.ts`;
      const code = replaced(source, `import("${path}")`, "Promise.resolve(hotCommand)");
      return `import * as hotCommand from "${path}";\n${code}`;
    },
    // A script has no top-level await.
    [join(folder, "main.ts")]: (source) =>
      replaced(source, "await runProcess(run);", "void runProcess(run);"),
  };
  return {
    name: "hot-command",
    setup(build) {
      // Entries of other commands are no longer used, and can be left out.
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
