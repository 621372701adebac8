import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const FILES = [
  "README.md",
  "CHANGELOG.md",
  "CONTRIBUTING.md",
  ...globSync("docs/**/*.md", { cwd: ROOT }),
];
const PARTS = new Set(globSync("src/*/", { cwd: ROOT }).map((path) => path.split("/")[1]));
const read = (file: string): string => readFileSync(join(ROOT, file), "utf8");

/** Files of the repository that a text names, from its root or, as ARCHITECTURE does, from src/. */
function missingFiles(text: string): string[] {
  const named = Array.from(
    text.matchAll(/`([\w-]+\/[\w./-]+\.(?:ts|mjs))`/g),
    ([, path = ""]) => path,
  );
  return named
    .map((path) => (PARTS.has(path.split("/")[0] ?? "") ? `src/${path}` : path))
    .filter((path) => /^(?:src|test|scripts|bench)\//.test(path) && !existsSync(join(ROOT, path)));
}

describe("the documents", () => {
  for (const file of FILES) {
    it(`name existing files: ${file}`, () => {
      assert.deepEqual(missingFiles(read(file)), []);
    });

    it(`link to existing documents: ${file}`, () => {
      const links = Array.from(
        read(file).matchAll(/\]\(([^)#:\s]+)(?:#[^)]*)?\)/g),
        ([, to]) => to,
      );
      const missing = links.filter((to = "") => !existsSync(join(ROOT, dirname(file), to)));
      assert.deepEqual(missing, []);
    });
  }

  for (const folder of PARTS) {
    it(`describe src/${folder}: its README names existing files and types`, () => {
      const text = read(`src/${folder}/README.md`);
      const lines = text.split("\n").length;
      assert.ok(lines >= 20 && lines <= 45, `${lines} lines`);
      for (const [, path = ""] of text.matchAll(/`([\w./-]+(?:\.tsx?|\/))`/g)) {
        const places = [join("src", folder ?? "", path), path];
        assert.ok(
          places.some((place) => existsSync(join(ROOT, place))),
          `${path} is missing`,
        );
      }
      for (const [, names = "", path = ""] of text.matchAll(/^\| (`.*?`) \(`([^`]+)`\) \|/gm)) {
        const place = join("src", folder ?? "", path);
        const files = path.endsWith("/") ? globSync(`${place}**/*.ts`, { cwd: ROOT }) : [place];
        const code = files.map(read).join("\n");
        for (const [, name = ""] of names.matchAll(/`(\w+)/g)) {
          assert.match(code, new RegExp(`\\b(?:class|interface|type|function|const) ${name}\\b`));
        }
      }
    });
  }

  it("have no markers of an unfinished merge", () => {
    for (const file of FILES) assert.doesNotMatch(read(file), /^(?:<{7}|>{7}) /m, file);
  });
});

describe("the glossary", () => {
  const words = Array.from(
    read("docs/GLOSSARY.md").matchAll(/^\| ([^|-][^|]*) \|/gm),
    ([, word = ""]) => word.toLowerCase(),
  ).slice(1);

  it("has each word once, in order", () => {
    assert.ok(words.length > 80, `${words.length} words`);
    assert.deepEqual(words, [...new Set(words)].toSorted());
  });
});
