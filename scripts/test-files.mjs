import { readdirSync } from "node:fs";
import { join, sep } from "node:path";

/** Tests against other people's programs: apart, since those have to be fetched first. */
const INTEROP = join("test", "interop") + sep;

/** What some tests install for themselves. */
const INSTALLED = sep + join("node_modules", sep);

/** Tests of what no command offers yet; `--all` runs them too. */
const NOT_OFFERED = [
  join("src", "agent"),
  join("src", "git"),
  join("src", "identity"),
  join("src", "review"),
  join("test", "e2e", "acp-killed"),
  join("test", "e2e", "acp-sdk"),
  join("test", "e2e", "identity"),
  join("test", "e2e", "review"),
  // It looks for what those cite.
  join("test", "requirements"),
];

/** The project's test files, relative to its root. */
export function testFiles(root, kind = "own") {
  const files = ["src", "test", "scripts", "bench"].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true }).map((file) => join(folder, file)),
  );
  const tests = files.filter((file) => file.endsWith(".test.ts") && !file.includes(INSTALLED));
  const isOffered = (file) => !NOT_OFFERED.some((prefix) => file.startsWith(prefix));
  return tests
    .filter((file) => process.argv.includes("--all") || isOffered(file))
    .filter((file) => file.startsWith(INTEROP) === (kind === "interop"));
}
