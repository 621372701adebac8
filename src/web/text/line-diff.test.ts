import assert from "node:assert/strict";
import { test } from "node:test";

import { diffLines } from "./line-diff.ts";

const shown = (old: string, fresh: string): string[] =>
  diffLines(old, fresh).map(({ lines }) =>
    lines
      .map(({ kind, text }) => `${{ same: " ", added: "+", removed: "-" }[kind]}${text}`)
      .join("|"),
  );

test("diffLines() shows the changed lines with three lines around them", () => {
  const old = Array.from({ length: 30 }, (_, n) => `l${n}`);
  const fresh = old.with(5, "five").toSpliced(20, 1);
  assert.deepEqual(shown(old.join("\n"), fresh.join("\n")), [
    " l2| l3| l4|-l5|+five| l6| l7| l8",
    " l17| l18| l19|-l20| l21| l22| l23",
  ]);
});

test("diffLines() keeps what is the same between changes that are near", () => {
  assert.deepEqual(shown("a\nb\nc\nd\n", "a\nB\nc\nD\n"), [" a|-b|+B| c|-d|+D"]);
});

test("diffLines() shows new and emptied files, and nothing for equal ones", () => {
  assert.deepEqual(shown("", "a\nb\n"), ["+a|+b"]);
  assert.deepEqual(shown("a\n", ""), ["-a"]);
  assert.deepEqual(shown("a\n", "a\n"), []);
});

test("diffLines() makes the new text of the old one, for random texts", () => {
  let seed = 3;
  const random = (below: number): number => (seed = (seed * 48_271) % 2_147_483_647) % below;
  const text = (): string[] => Array.from({ length: random(40) }, () => `x${random(6)}`);
  for (let round = 0; round < 300; round++) {
    const old = text();
    const fresh = text();
    const made = [...old];
    for (const line of diffLines(old.join("\n"), fresh.join("\n"))
      .flatMap(({ lines }) => lines)
      .toReversed()) {
      if (line.kind === "removed") assert.equal(made.splice(line.old! - 1, 1)[0], line.text);
    }
    for (const line of diffLines(old.join("\n"), fresh.join("\n")).flatMap(({ lines }) => lines)) {
      if (line.kind === "added") made.splice(line.new! - 1, 0, line.text);
      else if (line.kind === "same") assert.equal(made[line.new! - 1], line.text);
    }
    assert.deepEqual(made, fresh);
  }
});

test("diffLines() gives up on two long texts that have nothing in common", () => {
  const old = Array.from({ length: 5000 }, (_, n) => `a${n}`).join("\n");
  const fresh = Array.from({ length: 5000 }, (_, n) => `b${n}`).join("\n");
  assert.equal(diffLines(old, fresh)[0]?.lines.length, 10_000);
});
