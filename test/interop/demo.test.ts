import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { Program } from "../support/program.ts";
import { gone } from "../support/running-at.ts";

const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

/** Its temporary folder is in the program's home, so that what it leaves can be seen. */
function demo(...args: string[]): Program {
  const within = ["sh", "-c", 'TMPDIR="$HOME" exec "$@"', "sh"];
  return new Program(["demo", ...args], { within });
}

function leftIn({ home }: Program): string[] {
  return readdirSync(home).filter((name) => name.startsWith("trunkline-"));
}

describe("trunkline demo", { timeout: 600_000 }, () => {
  it("plays every act for real, and leaves nothing", { skip: noSandbox }, async () => {
    await using program = demo("--json");
    const exit = await program.exit;
    const { ok, acts } = JSON.parse(program.lines.join("\n")) as {
      ok: boolean;
      acts: readonly { title: string; error?: string }[];
    };
    assert.deepEqual(
      acts.filter(({ error }) => error !== undefined),
      [],
    );
    assert.equal(acts.length, 6);
    assert.ok(ok);
    assert.equal(exit, 0);
    await gone(program.home);
    assert.deepEqual(leftIn(program), []);
  });

  it("leaves the folder with --keep, and says where it is", async () => {
    await using program = demo("--keep");
    await program.until(({ lines }) => lines.some((line) => line.includes("git config")));
    program.child.kill("SIGTERM");
    await program.exit;
    const [, folder = ""] = /The folder is left: (.+)$/m.exec(program.lines.join("\n")) ?? [];
    assert.ok(existsSync(join(folder, "app/greet.js")), program.lines.join("\n"));
  });
});
