import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";

import { canonicalKey, configBoolean, parseConfigList, parseScopedList } from "./git-config.ts";

describe("parseConfigList()", () => {
  it("distinguishes a key without a value from an empty one, and keeps line ends", () => {
    assert.deepEqual(parseConfigList("a.b\0c.d\n\0e.f\ntwo\nlines\0"), [
      { key: "a.b", value: undefined },
      { key: "c.d", value: "" },
      { key: "e.f", value: "two\nlines" },
    ]);
    assert.deepEqual(parseConfigList(""), []);
  });
});

describe("parseScopedList()", () => {
  it("reads three fields for each value, and drops an incomplete one", () => {
    const text = "global\0file:/x\0a.b\nc\0local\0file:.git/config\0d.e\0worktree\0file:";
    assert.deepEqual(parseScopedList(text), [
      { scope: "global", origin: "file:/x", key: "a.b", value: "c" },
      { scope: "local", origin: "file:.git/config", key: "d.e", value: undefined },
    ]);
  });
});

describe("canonicalKey()", () => {
  it("keeps the case of a subsection, including dots, and of nothing else", () => {
    assert.equal(canonicalKey("Remote.Up.Stream.URL"), "remote.Up.Stream.url");
    assert.equal(canonicalKey("User.Email"), "user.email");
    assert.equal(canonicalKey("Bare"), "bare");
  });
});

describe("configBoolean()", () => {
  it("reads values as git does", () => {
    for (const value of ["yes", "On", "TRUE", "1", "-1", "0", "no", "off", "false", "", "+2"]) {
      const args = ["-c", `a.b=${value}`, "config", "--type=bool", "--get", "a.b"];
      const git = execFileSync("git", args, { encoding: "utf8" }).trim();
      assert.equal(String(configBoolean(value)), git, value);
    }
    assert.equal(configBoolean(undefined), true);
    assert.equal(configBoolean("maybe"), undefined);
  });
});
