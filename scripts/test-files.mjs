import { readdirSync } from "node:fs";
import { join, sep } from "node:path";

/** Tests with other people's programs: separate, because those have to be downloaded first. */
const INTEROP = join("test", "interop") + sep;

/** Folders into which some tests install packages. */
const INSTALLED = sep + join("node_modules", sep);

/** The project's test files, relative to its root. */
export function testFiles(root, kind = "own") {
  const files = ["src", "test", "scripts", "bench"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
  );
  const tests = files.filter((file) => file.endsWith(".test.ts") && !file.includes(INSTALLED));
  return tests.filter((file) => file.startsWith(INTEROP) === (kind === "interop"));
}
