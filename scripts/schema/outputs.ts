import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Texts of generated files, by their path from the root of the repository. */
export type Outputs = ReadonlyMap<string, string>;

/** The files that are missing or out of date. */
export function findOutdated(root: string, outputs: Outputs): string[] {
  return [...outputs]
    .filter(([file, text]) => read(join(root, file)) !== text)
    .map(([file]) => file);
}

export function writeOutputs(root: string, outputs: Outputs, files: readonly string[]): void {
  for (const file of files) {
    const path = join(root, file);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, outputs.get(file) ?? "");
  }
}

function read(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
