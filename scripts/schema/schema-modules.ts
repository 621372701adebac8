import { globSync, readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { pathToFileURL } from "node:url";

import { compile } from "./compile.ts";
import type { Outputs } from "./outputs.ts";

/** Compiles every `schema.ts` under `src/` into the `schema.gen.ts` beside it. */
export async function compileModules(root: string): Promise<Outputs> {
  const outputs = new Map<string, string>();
  for (const file of globSync("src/**/schema.ts", { cwd: root }).toSorted()) {
    const path = join(root, file);
    // A file of this name may contain another kind of schema; only this export is compiled.
    if (!/^export const schemas\b/m.test(readFileSync(path, "utf8"))) continue;
    const module = (await import(pathToFileURL(path).href)) as { readonly schemas: unknown };
    outputs.set(file.replace(/\.ts$/, ".gen.ts"), compileFile(file, module.schemas));
  }
  return outputs;
}

function compileFile(file: string, schemas: unknown): string {
  try {
    return compile(schemas, relative(dirname(file), "src/base"));
  } catch (error) {
    throw new Error(`${file}: ${(error as Error).message}`, { cause: error });
  }
}
