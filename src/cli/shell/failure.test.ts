import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { sampleProgram } from "../../../test/samples/sample-program.ts";
import { renderFailure } from "./failure.ts";

const PATH = [sampleProgram({ run: async () => 0 })] as const;
const render = (error: unknown, verbose = false) => renderFailure(error, PATH, verbose);

describe("renderFailure()", () => {
  it("shows the message of an expected failure, and the usage after a misuse", () => {
    const failed = render(new TrunklineError("unavailable", "Cannot connect"));
    assert.deepEqual(failed, { text: "trunkline: Cannot connect\n", exitCode: 1 });
    const misused = render(new TrunklineError("usage", "Give a name"));
    assert.equal(misused.exitCode, 2);
    assert.match(misused.text, /^trunkline: Give a name\nRun `trunkline --help`/);
  });

  it("calls any other failure a bug, and shows its stack with --verbose", () => {
    const bug = new TypeError("x is not a function");
    const { text, exitCode } = render(bug);
    assert.equal(exitCode, 1);
    assert.match(
      text,
      /failed because of a bug in Trunkline: x is not a function\nRun it again with --verbose/,
    );
    assert.match(render(bug, true).text, /TypeError: x is not a function\n +at /);
    assert.match(render("thrown").text, /bug in Trunkline: thrown\n/);
  });

  it("does not call an error of the operating system a bug", () => {
    for (const code of ["EACCES", "ENOSPC", "EMFILE"]) {
      const { text } = render(Object.assign(new Error(`${code}: no`), { code }));
      assert.doesNotMatch(text, /bug/, code);
    }
    const full = Object.assign(new Error("ENOSPC: no space, write"), { code: "ENOSPC" });
    assert.match(render(full).text, /failed: no space\. Free some space on its disk/);
    const unexpected = Object.assign(new Error("ENOENT: no"), { code: "ENOENT" });
    assert.match(render(unexpected).text, /bug/);
  });

  it("masks secrets, in messages and in stacks", () => {
    const error = new Error("GET https://ada:hunter2@example.com failed");
    for (const verbose of [false, true]) {
      assert.doesNotMatch(render(error, verbose).text, /hunter2/);
    }
  });
});
