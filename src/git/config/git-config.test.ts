import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { GitConfig, isStronger, setConfig, unsetConfig } from "./git-config.ts";
import { SampleRepository } from "../../../test/samples/sample-repository.ts";

describe("GitConfig", { timeout: 60_000 }, () => {
  it("knows the file and the scope of a value, and which value is in force", async () => {
    using sample = new SampleRepository();
    sample.write(".gitconfig", "[user]\n\temail = global@x\n[include]\n\tpath = more\n");
    sample.write("more", "[user]\n\temail = included@x\n[core]\n\tAutoCRLF\n");
    sample.run("config", "user.email", "two\nlines");
    const config = await GitConfig.read(sample.git);
    assert.equal(config.get("USER.Email"), "two\nlines");
    assert.deepEqual(
      config.all("user.email").map(({ scope, value }) => [scope, value]),
      [
        ["global", "global@x"],
        ["global", "included@x"],
        ["local", "two\nlines"],
      ],
    );
    assert.ok(config.isTrue("core.autocrlf"));
    assert.ok(isStronger("worktree", "local") && !isStronger("system", "global"));
  });

  it("sets and removes values in one file", async () => {
    using sample = new SampleRepository();
    const file = sample.write("own.config", "[a]\n\tb = 0\n\tb = 1\n");
    await setConfig(sample.git, { path: file }, "a.b", ["x", "y"]);
    await setConfig(sample.git, "local", "a.c", ["z"]);
    await unsetConfig(sample.git, "local", "a.nothing");
    assert.equal(sample.read("own.config").toString(), "[a]\n\tb = x\n\tb = y\n");
    assert.equal(sample.run("config", "a.c"), "z");
    await setConfig(sample.git, { path: file }, "a.b", []);
    assert.doesNotMatch(sample.read("own.config").toString(), /b = /);
  });
});
