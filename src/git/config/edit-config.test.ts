import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { rounds } from "../../../test/support/full-run.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { runForBytes } from "../../../test/support/run-from-shell.ts";
import { parseConfigList } from "./git-config.ts";
import { editConfig, readConfigBytes, readValues } from "./edit-config.ts";
import { sampleConfig } from "../../../test/samples/sample-config.ts";
import { Git } from "../git.ts";

/** What git reads in a configuration file. */
function gitReads(bytes: Buffer): string[] {
  const out = runForBytes("git", ["config", "--file", "-", "-z", "--list"], { input: bytes });
  return parseConfigList(out.toString("latin1")).map(({ key, value }) => {
    return `${key}=${value?.replaceAll(/[\t\r ]/g, " ") ?? "(true)"}`;
  });
}

const git = new Git("/");

const VALUES = [
  "plain",
  "",
  " spaces at both ends ",
  'quotes " and \\ backslashes',
  "# not a comment; really",
  "two\nlines\tand a tab",
  "Zoë 名前 🙂",
  "ssh -i '/home/a b/it'\\''s \"key\"' -o IdentitiesOnly=yes",
  "trailing backslash \\",
];
const KEYS = [
  "user.name",
  "core.sshCommand",
  "remote.up.stream.url",
  'remote.we"ird\\.url',
  "n.e-w",
];

const FILES = rounds({ few: 30, all: 150 });

describe("editConfig()", { timeout: 120_000 }, () => {
  it("sets values so that git reads them, and changes nothing else, in many files", async () => {
    for (let seed = 1; seed <= FILES; seed++) {
      const chance = new SeededRandom(seed);
      const bytes = sampleConfig(chance);
      const key = chance.pick(KEYS);
      const values = Array.from({ length: chance.below(4) }, () => chance.pick(VALUES));
      const atEnd = chance.once(3);
      const edited = await editConfig(git, bytes, [{ key, values, atEnd }]);
      const says = `seed ${seed}: ${key}\n${bytes.toString("latin1")}\n=>\n${edited.toString("latin1")}`;
      assert.deepEqual((await readValues(git, edited))(key), values, says);
      const others = (list: string[]) => {
        const name = Buffer.from(`${key.toLowerCase()}=`).toString("latin1");
        return list.filter((entry) => !entry.toLowerCase().startsWith(name));
      };
      assert.deepEqual(others(gitReads(edited)), others(gitReads(bytes)), says);
    }
  });

  it("changes no byte if the value is already set", async () => {
    const bytes = Buffer.from("[user]\r\n\temail   =  a@b   # mine\r\n[core]\n");
    assert.deepEqual(await editConfig(git, bytes, [{ key: "user.email", values: ["a@b"] }]), bytes);
  });

  it("writes a value in its old place, or in its section, or in a new one", async () => {
    const bytes = Buffer.from("[user]\n\tname = a ; b\n\n[core]\n\tbare = false");
    const edited = await editConfig(git, bytes, [
      { key: "user.name", values: ["c"] },
      { key: "user.email", values: ["d@e"] },
      { key: "core.sshCommand", values: ["ssh"] },
      { key: "gpg.format", values: ["openpgp"] },
    ]);
    assert.equal(
      edited.toString(),
      "[user]\n\tname = c\n\temail = d@e\n\n[core]\n\tbare = false\n\tsshCommand = ssh\n" +
        "[gpg]\n\tformat = openpgp\n",
    );
  });

  it("sets a value after the file's includes, if asked to", async () => {
    const bytes = Buffer.from("[user]\n\temail = a@b\n[include]\n\tpath = x\n");
    const edited = await editConfig(git, bytes, [
      { key: "user.email", values: ["c@d"], atEnd: true },
    ]);
    assert.equal(edited.toString(), "[include]\n\tpath = x\n[user]\n\temail = c@d\n");
  });

  it("refuses a NUL", async () => {
    const edit = { key: "user.name", values: ["a\0b"] };
    await assert.rejects(editConfig(git, Buffer.alloc(0), [edit]), { code: "usage" });
  });
});

describe("readConfigBytes()", () => {
  it("throws if git cannot read the file", async () => {
    await readConfigBytes(git, Buffer.from("[a]\n\tb = c\n"));
    await assert.rejects(readConfigBytes(git, Buffer.from("[a\n")), /bad config line/);
  });
});
