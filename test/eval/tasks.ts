import type { ScriptedCall } from "../agent/fake-llm.ts";

/** One task of the evaluation: what is asked, and how its result is judged. */
export interface Task {
  readonly name: string;
  readonly repository: "calc" | "notes" | "site";
  readonly prompt: string;
  /** The calls of a scripted model, answer by answer. */
  readonly script: readonly (readonly ScriptedCall[])[];
  /** The files that differ afterwards, and what each has to hold; null if it has to be gone. */
  readonly result: Readonly<Record<string, RegExp | null>>;
  /** What the person does to a file after the first answer that has succeeded. */
  readonly person?: { readonly file: string; readonly change: (text: string) => string };
  /** Calls of the scripted model that have to fail; by default none. */
  readonly failures?: number;
}

const call = (name: string, args: object): ScriptedCall => ({ name, arguments: args });
const read = (path: string, more: object = {}) => call("read_file", { path, ...more });
const edit = (path: string, old_string: string, new_string: string, more: object = {}) =>
  call("edit_file", { path, old_string, new_string, ...more });
const write = (path: string, content: string) => call("write_file", { path, content });
const patch = (...lines: string[]) =>
  call("apply_patch", { input: ["*** Begin Patch", ...lines, "*** End Patch"].join("\n") });
const run = (command: string) => call("run_command", { command });
const many = (path: string, edits: object[]) => call("multi_edit", { path, edits });
const find = (pattern: string) => call("search_files", { pattern });

const CHECK = run("node --test");
const TOP = (text: string): string => `// The person's line.\n${text}`;

export const TASKS: readonly Task[] = [
  {
    name: "fix a function",
    repository: "calc",
    prompt: "parse() should ignore empty parts. Fix it, and run the tests.",
    script: [
      [read("src/parse.js"), read("test/calc.test.js")],
      [edit("src/parse.js", 'text.split(" ")', 'text.split(" ").filter((part) => part !== "")')],
      [CHECK],
    ],
    result: { "src/parse.js": /filter\(/ },
  },
  {
    name: "add a function with its test",
    repository: "calc",
    prompt:
      "Add mul(a, b) in src/mul.js, export it from src/index.js, and test it in test/mul.test.js.",
    script: [
      [read("src/index.js"), read("src/add.js")],
      [
        write("src/mul.js", "export function mul(a, b) {\n  return a * b;\n}\n"),
        edit("src/index.js", "export { sub }", 'export { mul } from "./mul.js";\nexport { sub }'),
        write(
          "test/mul.test.js",
          'import assert from "node:assert/strict";\nimport { test } from "node:test";\nimport { mul } from "../src/index.js";\n\ntest("mul", () => assert.equal(mul(2, 3), 6));\n',
        ),
      ],
      [CHECK],
    ],
    result: { "src/mul.js": /a \* b/, "src/index.js": /mul\.js/, "test/mul.test.js": /mul\(/ },
  },
  {
    name: "rename everywhere",
    repository: "calc",
    prompt: "Rename the function sub to subtract everywhere. File names stay.",
    script: [
      [find("\\bsub\\b")],
      [
        edit("src/sub.js", "function sub(", "function subtract("),
        edit("src/index.js", "{ sub }", "{ subtract }"),
        many("test/calc.test.js", [
          { old_string: "parse, sub }", new_string: "parse, subtract }" },
          { old_string: "equal(sub(", new_string: "equal(subtract(" },
        ]),
      ],
      [CHECK],
    ],
    result: {
      "src/sub.js": /subtract\(/,
      "src/index.js": /\{ subtract \}/,
      "test/calc.test.js": /subtract\(3/,
    },
  },
  {
    name: "patch several files",
    repository: "calc",
    prompt: "Make add and sub convert their arguments with Number().",
    script: [
      [read("src/add.js"), read("src/sub.js")],
      [
        patch(
          "*** Update File: src/add.js",
          "@@ export function add(a, b) {",
          "-  return a + b;",
          "+  return Number(a) + Number(b);",
          "*** Update File: src/sub.js",
          "@@ export function sub(a, b) {",
          "-  return a - b;",
          "+  return Number(a) - Number(b);",
        ),
      ],
      [CHECK],
    ],
    result: { "src/add.js": /Number\(a\) \+/, "src/sub.js": /Number\(a\) -/ },
  },
  {
    name: "patch that does not fit, then one that does",
    repository: "calc",
    prompt: "Let add() return 0 for missing arguments.",
    script: [
      [patch("*** Update File: src/add.js", "-  return x + y;", "+  return (x ?? 0) + (y ?? 0);")],
      [read("src/add.js")],
      [patch("*** Update File: src/add.js", "-  return a + b;", "+  return (a ?? 0) + (b ?? 0);")],
      [CHECK],
    ],
    result: { "src/add.js": /\?\? 0/ },
    failures: 1,
  },
  {
    name: "move a file",
    repository: "calc",
    prompt: "Move src/sub.js to src/minus.js, and keep everything working.",
    script: [
      [read("src/sub.js"), read("src/index.js")],
      [
        patch(
          "*** Update File: src/sub.js",
          "*** Move to: src/minus.js",
          " export function sub(a, b) {",
          "*** Update File: src/index.js",
          '-export { sub } from "./sub.js";',
          '+export { sub } from "./minus.js";',
        ),
      ],
      [CHECK],
    ],
    result: { "src/sub.js": null, "src/minus.js": /function sub/, "src/index.js": /minus\.js/ },
  },
  {
    name: "delete a file",
    repository: "notes",
    prompt: "Delete old/legacy.js, which nothing uses.",
    script: [
      [read("old/legacy.js"), find("legacy")],
      [patch("*** Delete File: old/legacy.js")],
      [CHECK],
    ],
    result: { "old/legacy.js": null },
  },
  {
    name: "delete a file that was not read",
    repository: "notes",
    prompt: "Delete old/legacy.js, which nothing uses.",
    script: [
      [patch("*** Delete File: old/legacy.js")],
      [read("old/legacy.js")],
      [patch("*** Delete File: old/legacy.js")],
    ],
    result: { "old/legacy.js": null },
    failures: 1,
  },
  {
    name: "blanks at line ends",
    repository: "notes",
    prompt: "Let title() trim its result.",
    script: [
      [read("title.js")],
      [
        edit(
          "title.js",
          'export function title(note) {\n  return note.split("\\n")[0];\n}',
          'export function title(note) {\n  return note.split("\\n")[0].trim();\n}',
        ),
      ],
      [CHECK],
    ],
    result: { "title.js": /trim\(\)/ },
  },
  {
    name: "tabs for blanks",
    repository: "notes",
    prompt: 'list() should say "no notes"; change the test as well.',
    script: [
      [read("notes.js"), read("notes.test.js")],
      [
        edit(
          "notes.js",
          '    if (notes.length === 0) {\n        return "none";',
          '    if (notes.length === 0) {\n        return "no notes";',
        ),
        edit("notes.test.js", 'list([]), "none"', 'list([]), "no notes"'),
      ],
      [CHECK],
    ],
    result: { "notes.js": /\t\treturn "no notes"/, "notes.test.js": /no notes/ },
  },
  {
    name: "CRLF",
    repository: "notes",
    prompt: "In windows.txt, put 'two' in place of 'second', and keep its line ends.",
    script: [[read("windows.txt")], [edit("windows.txt", "first\nsecond\n", "first\ntwo\n")]],
    result: { "windows.txt": /^first\r\ntwo\r\nthird\r\n$/ },
  },
  {
    name: "typography",
    repository: "notes",
    prompt: "In about.md, change the first line to: Notes, short ones.",
    script: [[read("about.md")], [edit("about.md", 'Notes - "quick" ones.', "Notes, short ones.")]],
    result: { "about.md": /^Notes, short ones\.\n\nSee/ },
  },
  {
    name: "ambiguous text",
    repository: "site",
    prompt: "Make paragraphs blue, and leave headings red.",
    script: [
      [read("style.css")],
      [edit("style.css", "color: red;", "color: blue;")],
      [edit("style.css", "p {\n  color: red;", "p {\n  color: blue;")],
    ],
    result: { "style.css": /h1 \{\n {2}color: red;\n\}\n\np \{\n {2}color: blue;/ },
    failures: 1,
  },
  {
    name: "replace everywhere in a file",
    repository: "site",
    prompt: "Make everything in style.css that is red green.",
    script: [[read("style.css")], [edit("style.css", "red", "green", { replace_all: true })]],
    result: { "style.css": /green[^]*green/ },
  },
  {
    name: "whole file",
    repository: "site",
    prompt:
      "Rewrite docs/faq.md as a heading FAQ and the one question 'Is it free?' with the answer 'Yes.'",
    script: [[read("docs/faq.md")], [write("docs/faq.md", "# FAQ\n\n## Is it free?\n\nYes.\n")]],
    result: { "docs/faq.md": /Is it free\?[^]*Yes\./ },
  },
  {
    name: "whole file that was not read",
    repository: "site",
    prompt: "Set port in config.json to 9090.",
    script: [
      [write("config.json", '{ "port": 9090 }\n')],
      [read("config.json")],
      [edit("config.json", "8080", "9090")],
    ],
    result: { "config.json": /"port": 9090,\n {2}"host": "localhost"/ },
    failures: 1,
  },
  {
    name: "new folders",
    repository: "site",
    prompt: "Add docs/de/anleitung.md with the heading Anleitung.",
    script: [
      [call("list_files", { path: "docs" })],
      [write("docs/de/anleitung.md", "# Anleitung\n")],
    ],
    result: { "docs/de/anleitung.md": /^# Anleitung/ },
  },
  {
    name: "edit that was made already",
    repository: "site",
    prompt: "The heading of index.html should be Hello.",
    script: [[edit("index.html", "<h1>Welcome</h1>", "<h1>Hello</h1>")]],
    result: {},
    failures: 1,
  },
  {
    name: "nothing to change",
    repository: "calc",
    prompt: "Do the tests pass? Change nothing.",
    script: [[CHECK]],
    result: {},
  },
  {
    name: "out of the workspace",
    repository: "site",
    prompt: "Write 'x' to docs/x.txt.",
    script: [[write("../x.txt", "x\n")], [write("docs/x.txt", "x\n")]],
    result: { "docs/x.txt": /^x/ },
    failures: 1,
  },
  {
    name: "git's own files",
    repository: "site",
    prompt: "Add a line 'dist' to .gitignore.",
    script: [[write(".git/info/exclude", "dist\n")], [write(".gitignore", "dist\n")]],
    result: { ".gitignore": /dist/ },
    failures: 1,
  },
  {
    name: "several edits, all or none",
    repository: "calc",
    prompt: "In src/parse.js, rename parts to words and part to word.",
    script: [
      [read("src/parse.js")],
      [
        many("src/parse.js", [
          { old_string: "parts", new_string: "words", replace_all: true },
          { old_string: "(piece)", new_string: "(word)" },
        ]),
      ],
      [
        many("src/parse.js", [
          { old_string: "parts", new_string: "words", replace_all: true },
          { old_string: "(part) =>", new_string: "(word) =>" },
          { old_string: "Number(part)", new_string: "Number(word)" },
        ]),
      ],
      [CHECK],
    ],
    result: { "src/parse.js": /words\.map\(\(word\) => \{\n {4}return Number\(word\)/ },
    failures: 1,
  },
  {
    name: "search, then edit",
    repository: "notes",
    prompt: "Find the word 'list' in about.md and write it with a capital L.",
    script: [[find("the list")], [edit("about.md", "the list.", "the List.")]],
    result: { "about.md": /the List\./ },
  },
  ...(["whole", "edit", "patch"] as const).map((how): Task => {
    const changes = {
      whole: write("src/add.js", "export const add = (a, b) => a + b;\n"),
      edit: edit("src/add.js", "return a + b;", "return b + a;"),
      patch: patch("*** Update File: src/add.js", "-  return a + b;", "+  return b + a;"),
    };
    return {
      name: `person's edit, then a change of the model (${how})`,
      repository: "calc",
      prompt: "In src/add.js, add b to a instead of a to b: return b + a.",
      script: [
        [read("src/add.js")],
        [changes[how]],
        [read("src/add.js")],
        [edit("src/add.js", "return a + b;", "return b + a;")],
        [CHECK],
      ],
      result: { "src/add.js": /^\/\/ The person's line\.\n[^]*return b \+ a;/ },
      person: { file: "src/add.js", change: TOP },
      failures: 1,
    };
  }),
  {
    name: "person's edit of another file",
    repository: "calc",
    prompt: "In src/add.js, return b + a.",
    script: [[read("src/add.js")], [edit("src/add.js", "return a + b;", "return b + a;")], [CHECK]],
    result: { "src/add.js": /b \+ a/, "src/sub.js": /^\/\/ The person's line\./ },
    person: { file: "src/sub.js", change: TOP },
  },
  {
    name: "person's edit, read and written in one answer",
    repository: "site",
    prompt: "Add a third step 'Enjoy' to docs/guide.md.",
    script: [
      [read("docs/guide.md")],
      [read("docs/guide.md"), write("docs/guide.md", "# Guide\n\n1. Install\n2. Run\n3. Enjoy\n")],
      [edit("docs/guide.md", "2. Run\n", "2. Run\n3. Enjoy\n")],
    ],
    result: { "docs/guide.md": /^\/\/ The person's line\.\n[^]*3\. Enjoy/ },
    person: { file: "docs/guide.md", change: TOP },
    failures: 1,
  },
  {
    name: "commit",
    repository: "calc",
    prompt: "Write 'See src/.' as the last line of README.md, and commit that file.",
    script: [
      [read("README.md")],
      [edit("README.md", "Run `npm test`.\n", "Run `npm test`.\nSee src/.\n")],
      [call("git_commit", { message: "Say where the sources are", paths: ["README.md"] })],
    ],
    result: { "README.md": /See src\/\.\n$/ },
  },
  {
    name: "plan of the work",
    repository: "calc",
    prompt: "Let sub() be written with an arrow function. Keep a plan.",
    script: [
      [
        call("update_plan", { entries: [{ content: "Rewrite sub", status: "in_progress" }] }),
        read("src/sub.js"),
      ],
      [write("src/sub.js", "export const sub = (a, b) => a - b;\n")],
      [CHECK],
    ],
    result: { "src/sub.js": /=> a - b/ },
  },
];
