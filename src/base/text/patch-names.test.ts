import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { lineName, partsOfPatch, quotedName, unquotedName } from "./patch-names.ts";

const NAMES = [
  "plain.txt",
  "with spaces.txt",
  "ü.js",
  'quo"te.sh',
  "back\\slash",
  "tab\there",
  "two\nlines",
  "bell\x07\x01\x7f",
  "next\u0085\u2028line",
  'ü"101',
  "\\101",
];

/** A repository in which a change is made, and the patch of that change. */
class Change implements Disposable {
  readonly #folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-patch-"));

  constructor(files: Readonly<Record<string, string>>) {
    this.git("init", "-q");
    for (const [name, text] of Object.entries(files)) writeFileSync(this.at(name), text);
    this.git("add", "-A");
    this.git("-c", "user.name=a", "-c", "user.email=a@example.com", "commit", "-qm", "x");
  }

  at(name: string): string {
    return join(this.#folder.path, name);
  }

  git(...args: readonly string[]): string {
    return execFileSync("git", args, { cwd: this.#folder.path, encoding: "utf8" });
  }

  patch(isQuoted: boolean): string {
    this.git("add", "-A");
    return this.git("-c", `core.quotePath=${isQuoted}`, "diff", "--binary", "-M", "HEAD");
  }

  [Symbol.dispose](): void {
    this.#folder.remove();
  }
}

describe("names in patches", () => {
  it("are read as git has written them, for files that are changed, deleted, renamed and binary", () => {
    using change = new Change({
      ...Object.fromEntries(NAMES.map((name) => [name, `old\n${name}\n`])),
      ...Object.fromEntries(NAMES.map((name) => [`gone ${name}`, `gone\n${name}\n`])),
      ...Object.fromEntries(NAMES.map((name) => [`from ${name}`, `much\nthe\nsame\n${name}\n`])),
    });
    for (const name of NAMES) {
      writeFileSync(change.at(name), `new\n${name}\n`);
      rmSync(change.at(`gone ${name}`));
      renameSync(change.at(`from ${name}`), change.at(`to ${name}`));
      writeFileSync(change.at(`binary ${name}`), `\0${name}`);
    }
    const names = NAMES.flatMap((name) => [name, `gone ${name}`, `to ${name}`, `binary ${name}`]);
    for (const isQuoted of [true, false]) {
      const found = partsOfPatch(change.patch(isQuoted)).map(({ path }) => path);
      assert.deepEqual(found.toSorted(), names.toSorted());
    }
  });

  it("are those of headers, whatever the changed lines look like", () => {
    using change = new Change({ "README.md": "one\n", 'quo"te.sh': "one\n" });
    const header = "diff --git a/README.md b/README.md";
    const lines = ["++ b/README.md", `a\r${header}`, `b\u2028${header}`, header, "-- a/README.md"];
    writeFileSync(change.at('quo"te.sh'), `${lines.join("\n")}\n`);
    const [part, ...others] = partsOfPatch(change.patch(false));
    assert.deepEqual(others, []);
    assert.equal(part?.path, 'quo"te.sh');
    assert.equal(part.body.filter((line) => line.startsWith("+")).length, lines.length);
  });

  it("are written so that they are read again, on one line", () => {
    for (const name of NAMES) {
      assert.equal(unquotedName(quotedName(name)), name);
      assert.equal(unquotedName(lineName(name)), name);
      assert.doesNotMatch(lineName(name), /[\n\r]/);
    }
  });
});
