import { readdirSync, readFileSync } from "node:fs";
import { join, sep } from "node:path";

/** Tests with other people's programs: separate, because those have to be downloaded first. */
const INTEROP = join("test", "interop") + sep;

/** What a test file imports that has fewer rounds in `npm test` than in `npm run test:interop`. */
const FULL_RUN = '/full-run.ts"';

/** A test file that says this takes long: several seconds of processor time, for programs that it starts. */
const LONG = /^\/\/ Long: /m;

/** Folders into which some tests install packages. */
const INSTALLED = sep + join("node_modules", sep);

/**
 * The project's test files, relative to its root: those of `npm test` ("own"), those of
 * `npm run test:long`, or those of `npm run test:interop`. What has fewer rounds in the first two is in
 * the last one, too.
 */
export function testFiles(root, kind = "own") {
  const files = ["src", "test", "scripts", "bench"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
  );
  const tests = files.filter((file) => file.endsWith(".test.ts") && !file.includes(INSTALLED));
  const textOf = (file) => readFileSync(join(root, file), "utf8");
  if (kind === "interop") {
    return tests.filter((file) => file.startsWith(INTEROP) || textOf(file).includes(FULL_RUN));
  }
  return tests.filter(
    (file) => !file.startsWith(INTEROP) && LONG.test(textOf(file)) === (kind === "long"),
  );
}
