// Tells whether the build is up to date with the sources. Plain JavaScript for old Nodes.
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** The inputs of a build. */
const INPUTS = ["src", "scripts", "package.json", "package-lock.json"];
const STAMP = ".cache/build-stamp";
const LAUNCHER = "dist/trunkline.js";

/** A text that changes whenever an input of the build changes. */
export function stampOf(root) {
  const hash = createHash("sha256");
  const add = (path) => {
    const { mtimeMs, size } = statSync(join(root, path));
    hash.update(`${path}\0${mtimeMs}\0${size}\n`);
  };
  for (const input of INPUTS) {
    if (!statSync(join(root, input)).isDirectory()) add(input);
    else for (const file of filesIn(root, input)) add(file);
  }
  // Somebody may have removed the build or replaced it.
  hash.update(
    existsSync(join(root, LAUNCHER)) ? String(statSync(join(root, LAUNCHER)).mtimeMs) : "",
  );
  return hash.digest("hex");
}

export function isBuilt(root) {
  const path = join(root, STAMP);
  return existsSync(path) && readFileSync(path, "utf8") === stampOf(root);
}

export function noteBuild(root) {
  const path = join(root, STAMP);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, stampOf(root));
}

function filesIn(root, folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.name.endsWith(".test.ts"))
    .map((entry) => join(entry.parentPath ?? entry.path, entry.name).slice(root.length))
    .toSorted();
}
