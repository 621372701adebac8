// Long: two runs of the built-in agent.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FakeLlm } from "../agent/fake-llm.ts";
import { ModelProxy } from "../interop/model-proxy.ts";
import { noOverlay } from "../support/no-overlay.ts";
import { Program } from "../support/program.ts";

const KEY = "sk-google-0123456789";
const LOOK = `echo seen > seen.txt; cat /proc/[0-9]*/environ | grep -c ${KEY} >> seen.txt; true`;

/** A run of the built-in agent, with a model of Google whose key is in the keychain of the machine. */
async function runWith(more: readonly string[]) {
  await using llm = await FakeLlm.start([
    { toolCalls: [{ name: "run_command", arguments: { command: LOOK } }] },
    { content: "That is all." },
  ]);
  await using provider = await ModelProxy.start(llm.url);
  using folder = mkdtempDisposableSync(join(tmpdir(), "run-models-"));
  const git = (...args: string[]): string => {
    const who = ["-c", "user.name=Ida", "-c", "user.email=ida@example.com"];
    return execFileSync("git", ["-C", folder.path, ...who, ...args], { encoding: "utf8" }).trim();
  };
  git("init", "--quiet", "--initial-branch=main");
  writeFileSync(join(folder.path, "file.txt"), "first\n");
  git("add", ".");
  git("commit", "--quiet", "--message", "First");
  using state = mkdtempDisposableSync(join(tmpdir(), "run-models-state-"));
  const config = join(state.path, "config.jsonc");
  const house = { type: "google", baseUrl: `${provider.url}/v1beta`, models: ["gemini-2.5-pro"] };
  const models = { local: false, default: "house/gemini-2.5-pro", providers: { house } };
  writeFileSync(config, JSON.stringify({ models }));
  const env = { TRUNKLINE_TOKEN_KEY: "a passphrase", TRUNKLINE_CONFIG: config, HOME: state.path };
  await using keep = new Program(["model", "key", "set", "GOOGLE_GENERATIVE_AI_API_KEY"], { env });
  keep.child.stdin.end(`${KEY}\n`);
  assert.equal(await keep.exit, 0, keep.stderr);
  const args = ["run", ".", "Look around", "--yes", ...more];
  await using run = new Program(args, { env, cwd: folder.path });
  const exit = await run.exit;
  const seen = exit === 0 ? git("show", `${run.lines.at(-1)}:seen.txt`) : run.stderr;
  return { exit, seen, keys: [...provider.keys] };
}

describe("a remote run", { timeout: 600_000, skip: noOverlay }, () => {
  it("has the models of local sessions, and not their keys", async () => {
    assert.deepEqual(await runWith([]), { exit: 0, seen: "seen\n0", keys: [KEY] });
  });

  it("has them without a sandbox, too", async () => {
    const { exit, seen, keys } = await runWith(["--unsafe-no-sandbox"]);
    assert.deepEqual({ exit, keys }, { exit: 0, keys: [KEY] });
    assert.match(seen, /^seen/);
  });
});
