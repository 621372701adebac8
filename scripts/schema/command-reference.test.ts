import assert from "node:assert/strict";
import { test } from "node:test";
import { renderReference } from "./command-reference.ts";
import { sampleProgram } from "../../test/samples/sample-program.ts";

const REFERENCE = renderReference(sampleProgram());

test("renderReference() links to a section for every command", () => {
  const links = [...REFERENCE.matchAll(/\]\(#(?<anchor>[\w-]+)\)/g)].map(
    (match) => match.groups?.["anchor"],
  );
  const sections = [...REFERENCE.matchAll(/^## (?<title>.*)$/gm)].map(
    (match) => match.groups?.["title"],
  );
  assert.deepEqual(sections, [
    "trunkline",
    "trunkline serve",
    "trunkline draw",
    "trunkline store",
    "trunkline store item",
    "trunkline store item add",
    "trunkline store item remove",
    "trunkline help",
    "trunkline wrap",
    "Global options",
  ]);
  assert.deepEqual(
    links,
    sections.slice(1, -1).map((title) => title?.replaceAll(" ", "-")),
  );
});

test("renderReference() describes a command completely", () => {
  const from = REFERENCE.indexOf("## trunkline draw");
  assert.equal(
    REFERENCE.slice(from, REFERENCE.indexOf("## trunkline store\n")),
    `## trunkline draw

Draw shapes, it's fun: [really].

\`\`\`sh
trunkline draw SHAPE [FILE…] [OPTIONS]
\`\`\`

| argument | meaning |
|---|---|
| \`SHAPE\` | What to draw (one of: circle, square) |
| \`[FILE…]\` | Where to draw it |

| option | meaning |
|---|---|
| \`--style STYLE\` | How (one of: plain, pretty) |
| \`--tag TAG\` | Labels (default: x) |
| \`--config NAME\` | Not a file here |

\`\`\`sh
# Do it.
trunkline draw circle a.svg b.svg --style plain
\`\`\`

`,
  );
});
