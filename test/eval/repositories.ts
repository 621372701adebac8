/** Small repositories that the tasks of the evaluation are about, each with tests of its own. */
export const REPOSITORIES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  /** A library in several modules. */
  calc: {
    "package.json": '{ "name": "calc", "type": "module", "scripts": { "test": "node --test" } }\n',
    "README.md": "# calc\n\nAdds and parses numbers. Run `npm test`.\n",
    "src/add.js": "export function add(a, b) {\n  return a + b;\n}\n",
    "src/sub.js": "export function sub(a, b) {\n  return a - b;\n}\n",
    "src/parse.js":
      'export function parse(text) {\n  const parts = text.split(" ");\n\n  return parts.map((part) => {\n    return Number(part);\n  });\n}\n',
    "src/index.js":
      'export { add } from "./add.js";\nexport { sub } from "./sub.js";\nexport { parse } from "./parse.js";\n',
    "test/calc.test.js":
      'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { add, parse, sub } from "../src/index.js";\n\ntest("add", () => assert.equal(add(1, 2), 3));\ntest("sub", () => assert.equal(sub(3, 2), 1));\ntest("parse", () => assert.deepEqual(parse("1 2"), [1, 2]));\n',
  },
  /** A command line program with odd files: CRLF, tabs, blanks at line ends, typography. */
  notes: {
    "package.json": '{ "name": "notes", "type": "module", "scripts": { "test": "node --test" } }\n',
    "notes.js":
      'import { title } from "./title.js";\n\nexport function list(notes) {\n\tif (notes.length === 0) {\n\t\treturn "none";\n\t}\n\treturn notes.map((note) => title(note)).join("\\n");\n}\n',
    "title.js": 'export function title(note) {  \n  return note.split("\\n")[0]; \n}\n',
    "windows.txt": "first\r\nsecond\r\nthird\r\n",
    "about.md": "Notes \u2014 \u201cquick\u201d ones.\n\nSee the list.\n",
    ".editorconfig": "root = true\n",
    "old/legacy.js": "export const legacy = true;\n",
    "notes.test.js":
      'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { list } from "./notes.js";\n\ntest("none", () => assert.equal(list([]), "none"));\ntest("titles", () => assert.equal(list(["a\\nb", "c"]), "a\\nc"));\n',
  },
  /** Settings and pages, without tests. */
  site: {
    "index.html": "<html>\n  <body>\n    <h1>Hello</h1>\n    <p>Text</p>\n  </body>\n</html>\n",
    "style.css": "h1 {\n  color: red;\n}\n\np {\n  color: red;\n}\n",
    "config.json": '{\n  "port": 8080,\n  "host": "localhost"\n}\n',
    "docs/guide.md": "# Guide\n\n1. Install\n2. Run\n",
    "docs/faq.md": "# FAQ\n\nNothing yet.\n",
  },
};
