import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";

const FOLDER = join(".cache", "test-groups");
/** A test file that says this, with the reason, shares its process with no other. */
const ALONE = /^\/\/ In a process of its own: /m;

/**
 * What Node's runner is to start, a process each: a file for each folder of `src/` that runs all the
 * tests in it, and every other test file as it is. Half of what a small test file takes is to start
 * Node and to load the modules, which the files of a folder have in common.
 */
export function groupTests(root, files) {
  const isShared = (file) => folderOf(file) && !ALONE.test(readFileSync(join(root, file), "utf8"));
  const groups = new Map();
  for (const file of files) {
    const name = isShared(file) ? folderOf(file) : file;
    groups.set(name, [...(groups.get(name) ?? []), file]);
  }
  return [...groups].map(([name, group]) =>
    group.length === 1 ? group[0] : writeGroup(root, name, group),
  );
}

/** The folder right below `src/`, undefined for a file elsewhere. */
function folderOf(file) {
  const [top, folder, ...rest] = file.split(sep);
  return top === "src" && rest.length > 0 ? folder : undefined;
}

/** Its name tells one group from another of the same folder, which another run may have chosen. */
function writeGroup(root, name, files) {
  const text = [
    `import { testTogether } from "../../test/support/test-together.ts";`,
    `await testTogether(${JSON.stringify(files, undefined, 2)});`,
    "",
  ].join("\n");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  const file = join(FOLDER, `src-${name}-${hash}.mjs`);
  mkdirSync(join(root, FOLDER), { recursive: true });
  writeFileSync(join(root, file), text);
  return file;
}
