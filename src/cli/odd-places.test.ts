// In a process of its own: it changes the working directory.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";

import { outputTo } from "../../test/support/run-in-process.ts";
import { PROGRAM } from "./commands.ts";
import { run } from "./program.ts";
import type { Command } from "./shell/command.ts";
import { processHost } from "./shell/host.ts";

/** Those that go on until they are stopped, or read what is typed. */
const LASTING =
  /^(?:serve|open|orchestrator|worker|mcp|acp|lsp|chat|demo|review watch|plugin (?:dev|mcp|wrap|test)|identity (?:credential|token set)|model key set)$/;

interface Leaf {
  readonly words: readonly string[];
  readonly args: readonly string[];
}

function* leavesOf(command: Command, words: readonly string[] = []): Generator<Leaf> {
  for (const each of command.commands ?? []) yield* leavesOf(each, [...words, each.name]);
  if (command.load === undefined || LASTING.test(words.join(" "))) return;
  yield { words, args: (command.args ?? []).flatMap(({ optional }) => (optional ? [] : ["x"])) };
}

async function said(leaf: Leaf, env: NodeJS.ProcessEnv): Promise<string> {
  let text = "";
  const output = outputTo((each) => (text += each));
  const host = { ...processHost, env, stdout: output, stderr: output, exit: assert.fail as never };
  await run([...leaf.words, ...leaf.args], host);
  return text;
}

describe("every command", { timeout: 600_000 }, () => {
  const home = process.cwd();
  const root = mkdtempDisposableSync(join(tmpdir(), "trunkline-places-"));
  const long = join(root.path, ...Array<string>(13).fill("d".repeat(60)));
  mkdirSync(long, { recursive: true });
  const PATH = process.env.PATH ?? "";
  const usual = { PATH, HOME: join(root.path, "home"), TRUNKLINE_TOKEN_STORE: "file" };
  after(() => {
    process.chdir(home);
    root.remove();
  });

  const places: Readonly<Record<string, readonly [env: NodeJS.ProcessEnv, go: () => void]>> = {
    "a path of 800 characters": [usual, () => process.chdir(long)],
    "a home folder whose path has 800 characters": [
      { ...usual, HOME: join(long, "home") },
      () => process.chdir(root.path),
    ],
    "a home folder that is relative": [
      { ...usual, HOME: "home/me" },
      () => process.chdir(root.path),
    ],
    "a folder that was deleted": [
      usual,
      () => {
        const gone = join(root.path, "gone");
        mkdirSync(gone);
        process.chdir(gone);
        rmSync(gone, { recursive: true });
      },
    ],
  };
  for (const [what, [env, go]] of Object.entries(places)) {
    it(`has words for ${what}`, async () => {
      go();
      for (const leaf of leavesOf(PROGRAM)) {
        const text = await said(leaf, env);
        const name = leaf.words.join(" ");
        assert.doesNotMatch(
          text,
          /bug in Trunkline|uv_cwd|ENAMETOOLONG|unable to open|damaged/,
          name,
        );
      }
    });
  }
});
