import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { rounds } from "../../../test/support/full-run.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { sampleJson } from "../../../test/samples/sample-json.ts";
import { formatMarkdown, MAX_FRONTMATTER, parseMarkdown } from "./markdown-file.ts";

async function parsed(text: string): Promise<{ metadata?: unknown; content: string }> {
  const { content, ...rest } = await parseMarkdown("a.md", Buffer.from(text));
  return { ...rest, content: Buffer.from(content).toString() };
}

async function formatted(content: string, metadata?: Record<string, unknown>): Promise<string> {
  const document = {
    content: Buffer.from(content),
    ...(metadata === undefined ? {} : { metadata }),
  };
  return (await formatMarkdown("a.md", document)).toString();
}

/** Texts that one reader of YAML or another takes for something else, or chokes on. */
const PITFALLS = [
  ..."yes no on off y n Y N ~ null Null NULL true True .inf -.INF .nan << = - ? : -- --- ... # & *".split(
    " ",
  ),
  ...["0x1f", "0o7", "010", "0b1", "1_000", "1e3", "+1", "1:30", "190:20:30", "0.", "-0", ".5"],
  ...["2025-01-15", "2025-01-15T10:00:00Z", "2001-12-14 21:59:43.10 -5", "a: b", "a #b", "- a"],
  ...["", " ", "\n", "\n\n", " a", "a ", "\ta", "a\t", "a\nb", "a\nb\n", "a\n\n", "\na", "a \nb"],
  ...[
    "a\r\nb",
    "\r",
    " a\nb",
    "  \n a",
    "---\n---",
    "a\n---\nb",
    "'",
    '"',
    "\\",
    "\\u0041",
    "%",
    "@",
  ],
  ...["\u0000", "\u0007", "\u001b[0m", "\u007f", "\u0085", "\u00a0", "\u2028", "\ufeff", "\ufffe"],
  ...["!!str a", "[a]", "{a: b}", "|", ">", "`", "x".repeat(2_000), "word ".repeat(300), "é", "👩‍👩‍👧"],
  ...["__proto__", "constructor", "toString"],
];

describe("parseMarkdown()", () => {
  it("reads metadata and content of a file written by Orchestra", async () => {
    const text = `---
assignee: go-architect
created_at: "2025-01-15T10:00:00Z"
labels:
    - auth
    - frontend
priority: P1
version: 3
ratio: 0.5
done: false
parent: null
nested:
    due: 2025-01-16
---

# Add login page

---
**todo -> in-progress**
`;
    assert.deepEqual(await parsed(text), {
      metadata: {
        assignee: "go-architect",
        created_at: "2025-01-15T10:00:00Z",
        labels: ["auth", "frontend"],
        priority: "P1",
        version: 3,
        ratio: 0.5,
        done: false,
        parent: null,
        nested: { due: "2025-01-16" },
      },
      content: "# Add login page\n\n---\n**todo -> in-progress**\n",
    });
  });

  const cases: [name: string, text: string, expected: { metadata?: unknown; content: string }][] = [
    ["no metadata", "# Title\n", { content: "# Title\n" }],
    ["nothing", "", { content: "" }],
    ["a rule as its only line", "---", { content: "---" }],
    ["a longer rule", "----\na: 1\n---\n", { content: "----\na: 1\n---\n" }],
    ["words after the rule", "--- a\n---\n", { content: "--- a\n---\n" }],
    ["a mark before the rule", "\ufeff---\na: 1\n---\n", { content: "\ufeff---\na: 1\n---\n" }],
    ["no blank line", "---\na: 1\n---\nx", { metadata: { a: 1 }, content: "x" }],
    ["two blank lines", "---\na: 1\n---\n\n\nx", { metadata: { a: 1 }, content: "\nx" }],
    ["only metadata", "---\na: 1\n---", { metadata: { a: 1 }, content: "" }],
    [
      "lines of Windows",
      "---\r\na: x\r\n---\r\n\r\ny\r\n",
      { metadata: { a: "x" }, content: "y\r\n" },
    ],
    ["no members", "---\n---\n\nx", { content: "x" }],
    ["only a comment", "---\n# a\n---\n\nx", { content: "x" }],
    [
      "a rule in a text",
      "---\na: |\n  ---\n  b\n---\nx",
      { metadata: { a: "---\nb\n" }, content: "x" },
    ],
    [
      "what is merged in",
      "---\na: &a {x: 1}\nb: {<<: *a}\n---\n",
      { metadata: { a: { x: 1 }, b: { x: 1 } }, content: "" },
    ],
  ];
  for (const [name, text, expected] of cases) {
    it(`reads a file with ${name}`, async () => {
      assert.deepEqual(await parsed(text), expected);
    });
  }

  const refused: [name: string, text: string, says: RegExp][] = [
    ["that does not end", "---\na: 1\n\n# Title\n", /the line '---' that ends it is missing/],
    ["that ends with more dashes", "---\na: 1\n----\n", /the line '---' that ends it is missing/],
    ["that is not YAML", "---\na: 1\nb: [1\n---\n", /line \d: /],
    ["with a key twice", "---\nx: 1\na: 1\na: 2\n---\n", /line 4: 'a' is there twice/],
    ["with a key that is a list", "---\n[a]: 1\n---\n", /line 2: a key must be a text/],
    ["that is a list", "---\n- a\n---\n", /'it' must be an object/],
    ["that is a text", "---\na\n---\n", /'it' must be an object/],
    ["with a number JSON lacks", "---\na: {b: .nan}\n---\n", /'it.a.b' is NaN/],
    ["that holds itself", "---\na: &a [*a]\n---\n", /Cannot read the frontmatter/],
    ["with an unknown alias", "---\na: *b\n---\n", /Cannot read the frontmatter/],
    ["of two documents", "---\na: 1\n--- \nb: 1\n---\n", /Cannot read the frontmatter/],
    ["that nests too deep", `---\na: ${"[".repeat(3_000)}\n---\n`, /Cannot read the frontmatter/],
    [
      "that is too long",
      `---\na: ${"x".repeat(MAX_FRONTMATTER)}\n---\n`,
      /longer than 262144 bytes/,
    ],
  ];
  for (const [name, text, says] of refused) {
    it(`reports what is wrong with metadata ${name}`, async () => {
      await assert.rejects(parsed(text), (error: Error & { code?: string }) => {
        assert.equal(error.code, "config");
        assert.match(error.message, /^Cannot read the frontmatter of 'a\.md': .*Fix the file/);
        assert.match(error.message, says);
        return true;
      });
    });
  }

  it("reports metadata that is not UTF-8", async () => {
    const file = Buffer.from("---\na: \xff\n---\n", "latin1");
    await assert.rejects(parseMarkdown("a.md", file), /Cannot read the frontmatter of 'a\.md'/);
  });

  it("refuses YAML aliases that expand to huge values", async () => {
    const lines = Array.from({ length: 30 }, (_, n) => `a${n + 1}: &a${n + 1} [*a${n}, *a${n}]`);
    const bomb = ["---", "a0: &a0 x", ...lines, "---", ""].join("\n");
    await assert.rejects(parsed(bomb), /Cannot read the frontmatter/);
  });

  it("reads many keys quickly", async () => {
    const keys = Array.from({ length: 10_000 }, (_, n) => `k${n}: ${n}`).join("\n");
    const start = process.cpuUsage();
    const { metadata } = await parsed(`---\n${keys}\n---\n`);
    assert.equal((metadata as { k9999: number }).k9999, 9_999);
    assert.ok(process.cpuUsage(start).user < 5_000_000);
  });
});

const ROUNDS = rounds({ few: 150, all: 1_500 });

describe("formatMarkdown()", () => {
  it("writes metadata sorted by key, texts that stay texts, and a blank line", async () => {
    const metadata = {
      title: "Add login page",
      version: 3,
      created_at: "2025-01-15T10:00:00Z",
      done: false,
      answer: "yes",
      labels: ["auth", "frontend"],
      nested: { b: null, a: [{ d: 1.5, c: [] }] },
      note: "two\nlines\n",
    };
    const expected = `---
answer: "yes"
created_at: "2025-01-15T10:00:00Z"
done: false
labels:
  - auth
  - frontend
nested:
  a:
    - c: []
      d: 1.5
  b: null
note: |
  two
  lines
title: Add login page
version: 3
---

# Title
`;
    assert.equal(await formatted("# Title\n", metadata), expected);
  });

  it("writes no metadata if there is none, unless the content looks like it", async () => {
    assert.equal(await formatted("# Title\n"), "# Title\n");
    assert.equal(await formatted("# Title\n", {}), "# Title\n");
    assert.equal(await formatted("---"), "---");
    assert.equal(await formatted("---\na: 1\n---\n"), "---\n---\n\n---\na: 1\n---\n");
  });

  it("writes text that reads back the same, for difficult texts", async () => {
    for (const text of PITFALLS) {
      const shapes = [{ k: text }, { [text]: 1 }, { k: [text, [text]] }, { k: { [text]: text } }];
      for (const metadata of shapes) {
        const file = await formatted("x", metadata);
        assert.deepEqual(await parsed(file), { metadata, content: "x" }, file);
      }
    }
  });

  it("writes text that reads back the same, for random texts", async () => {
    const random = new SeededRandom(7);
    for (let round = 0; round < ROUNDS; round++) {
      const metadata = sampleJson(random);
      metadata.text = Array.from({ length: 1 + random.below(4) }, () => random.pick(PITFALLS)).join(
        "",
      );
      const file = await formatted("\nx", metadata);
      assert.deepEqual(await parsed(file), { metadata, content: "\nx" }, `round ${round}: ${file}`);
    }
  });

  it("writes no character that others cannot read", async () => {
    const file = await formatted("", { k: PITFALLS.join(""), [PITFALLS.join("")]: PITFALLS });
    assert.doesNotMatch(file, /[^\P{Cc}\n]|[\u2028\ufeff\ufffe]/u);
  });

  it("refuses metadata that would be too long to be read", async () => {
    const metadata = { a: "x".repeat(MAX_FRONTMATTER) };
    await assert.rejects(formatted("", metadata), { code: "limit" });
  });
});
