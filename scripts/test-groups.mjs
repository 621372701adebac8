import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, sep } from "node:path";

const FOLDER = join(".cache", "test-groups");
/** A test file that says this, with the reason, shares its process with no other. */
const ALONE = /^\/\/ In a process of its own: /m;
/** The first word of its name is the subject of an end-to-end test. */
const END_TO_END = /^test[\\/]e2e[\\/](\w+)[^\\/]*$/;
/** They wait for programs most of the time, so a long row of them would end last. */
const MOST_END_TO_END = 4;
/**
 * A test file that waits for something while it loads, or says that it is loaded so. The runner has to follow promises to know its
 * tests, which takes time, so such files are by themselves (test/support/untracked-promises.ts).
 */
const AWAITING = /^(?:\/\/ Loaded by import: |(?!\/\/)(?=\S)(?:(?!=>).)*\bawait\b)/m;
const AWAITING_END = "-awaiting";
/** Folders of small tests. */
const SMALL = /^(scripts|bench|test[\\/]lint)[\\/]/;
/** A line of these starts programs. It takes some five times what a line of another test takes. */
const STARTING_PROGRAMS = /^test[\\/](?!lint)/;
/** What these do is written elsewhere, in suites. */
const SUITES = /^test[\\/](?:fuzz|contract|sandbox|browser)[\\/]/;
const SIZE_OF_SUITE = 10_000;

/**
 * What Node's runner is to start, a process each. The tests of a folder in `src/` share one, and so do
 * up to four end-to-end tests of a subject, or of subjects with one test: a third of what a small test
 * file takes is to start Node and to load the modules, which such files have in common.
 *
 * The runner takes them by name. They are numbered by size, so that what takes long comes first, and
 * no processor waits for it at the end.
 */
export function groupTests(root, files) {
  const texts = new Map(files.map((file) => [file, readFileSync(join(root, file), "utf8")]));
  const groups = new Map();
  for (const file of files) {
    const text = texts.get(file);
    const { name, most } = (!ALONE.test(text) && groupOf(file, files)) || aloneOf(file);
    const end = AWAITING.test(text) ? AWAITING_END : "";
    let free = name + end;
    for (let next = 2; groups.has(free) && groups.get(free).length >= most; next++) {
      free = `${name}-${next}${end}`;
    }
    groups.set(free, [...(groups.get(free) ?? []), file]);
  }
  const weightOf = (file) =>
    (texts.get(file).length + (SUITES.test(file) ? SIZE_OF_SUITE : 0)) *
    (STARTING_PROGRAMS.test(file) ? 5 : 1);
  return (
    [...groups]
      .map(([name, group]) => ({
        name,
        group,
        weight: group.reduce((sum, file) => sum + weightOf(file), 0),
      }))
      // oxlint-disable-next-line unicorn/no-array-sort -- old Nodes have no toSorted().
      .sort((one, other) => other.weight - one.weight)
      .map(({ name, group }, at) =>
        writeGroup(root, `${String(at).padStart(3, "0")}-${name}`, group),
      )
  );
}

/** With which others a file may share a process, and how many they may be. Undefined for none. */
function groupOf(file, files) {
  const folder = folderOf(file);
  if (folder !== undefined) return { name: `src-${folder}`, most: Infinity };
  const subject = subjectOf(file);
  if (subject !== undefined) {
    const isOnly = files.filter((other) => subjectOf(other) === subject).length === 1;
    return { name: isOnly ? "e2e" : `e2e-${subject}`, most: MOST_END_TO_END };
  }
  const [, small] = SMALL.exec(file) ?? [];
  return small && { name: small.replace(sep, "-"), most: Infinity };
}

/** What an end-to-end test is about, undefined for another test. */
function subjectOf(file) {
  return (END_TO_END.exec(file) ?? [])[1];
}

function aloneOf(file) {
  return { name: file.replace(/\.test\.ts$/, "").replaceAll(sep, "-"), most: 1 };
}

/** The folder right below `src/`, undefined for a file elsewhere. */
function folderOf(file) {
  const [top, folder, ...rest] = file.split(sep);
  return top === "src" && rest.length > 0 ? folder : undefined;
}

/** Its name tells one group from another of the same folder, which another run may have chosen. */
function writeGroup(root, name, files) {
  const options = name.endsWith(AWAITING_END) ? ", { awaiting: true }" : "";
  const text = [
    `import { testTogether } from "../../test/support/test-together.ts";`,
    `await testTogether(${JSON.stringify(files, undefined, 2)}${options});`,
    "",
  ].join("\n");
  const hash = createHash("sha256").update(text).digest("hex").slice(0, 8);
  const file = join(FOLDER, `${name}-${hash}.mjs`);
  mkdirSync(join(root, FOLDER), { recursive: true });
  writeFileSync(join(root, file), text);
  return file;
}
