import assert from "node:assert/strict";
import { readdirSync } from "node:fs";
import { describe, it } from "node:test";

import { Program } from "../support/program.ts";
import { gone } from "../support/running-at.ts";

describe("trunkline demo", { timeout: 600_000 }, () => {
  it("stops when it is asked to, and leaves nothing", async () => {
    // Its temporary folder is in the program's home, so that what it leaves can be seen.
    const within = ["sh", "-c", 'TMPDIR="$HOME" exec "$@"', "sh"];
    await using program = new Program(["demo"], { within });
    await program.until(({ lines }) => lines.some((line) => line.includes("trunkline identity")));
    program.child.kill("SIGINT");
    assert.equal(await program.exit, 1);
    await gone(program.home);
    const left = readdirSync(program.home).filter((name) => name.startsWith("trunkline-"));
    assert.deepEqual(left, []);
  });

  it("leaves nothing either when nobody reads what it prints any more", async () => {
    const within = ["sh", "-c", 'TMPDIR="$HOME"; export TMPDIR; "$@" | head -n 3', "sh"];
    await using program = new Program(["demo"], { within });
    await program.exit;
    await gone(program.home);
    const left = readdirSync(program.home).filter((name) => name.startsWith("trunkline-"));
    assert.deepEqual(left, []);
  });
});
