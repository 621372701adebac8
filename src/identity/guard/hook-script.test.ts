import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { filesNeededBy, guardScript, passingScript } from "./install-guard.ts";

describe("filesNeededBy()", () => {
  it("finds the program in a hook, whatever its path is, and the configuration if it is named", () => {
    const command = ["/usr/bin/node", "/home/o'hara/my tools/'identity'/trunkline.js"];
    const bare = guardScript("pre-commit", { command }, "next");
    assert.deepEqual(filesNeededBy(bare), command);
    const named = { command, config: "/etc/it's mine.jsonc", data: "/not/there/yet" };
    const script = guardScript("pre-push", named, "'/hooks/pre-push'");
    assert.deepEqual(filesNeededBy(script), [...command, "/etc/it's mine.jsonc"]);
  });

  it("finds nothing in a hook that does not ask the guard", () => {
    assert.deepEqual(filesNeededBy(passingScript("'/hooks/post-commit'")), []);
    assert.deepEqual(filesNeededBy("#!/bin/sh\nmake test\n"), []);
  });
});
