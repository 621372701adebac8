import assert from "node:assert/strict";
import {
  existsSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  realpathSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { defaultConfig } from "../../src/config/config.ts";
import { localSandboxStatus } from "../../src/sandbox/open/local-sandbox-status.ts";
import { KEY } from "../agent/agent-editor.ts";
import { FakeLlm, type Scripted } from "../agent/fake-llm.ts";
import { Program } from "../support/program.ts";
import { readAudit } from "../support/read-audit.ts";

const hasSandbox = (await localSandboxStatus(defaultConfig(tmpdir()))).state === "ok";

const hook = (command: string) => ({ hooks: [{ type: "command", command }] });
const call = (name: string, args: object): Scripted => ({ toolCalls: [{ name, arguments: args }] });
const DONE: Scripted = { content: "Done." };

/** No dangerous commands. */
const GUARD =
  "if grep -q 'rm -rf'; then echo 'Do not use rm -rf: move it to .trash' >&2; exit 2; fi";

describe("trunkline chat, with hooks and memory", { timeout: 600_000 }, () => {
  it("runs the user's hooks, the project's once they are trusted, and knows its notes the next time", async () => {
    await using llm = await FakeLlm.start([]);
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-hooked-"));
    const home = realpathSync(folder.path);
    const [project, data] = [join(home, "project"), join(home, "data")];
    mkdirSync(join(project, "build"), { recursive: true });
    mkdirSync(join(project, ".git"));
    const hooks = {
      PreToolUse: [{ matcher: "Bash", ...hook(GUARD) }],
      SessionStart: [hook("echo The release is on Friday.")],
    };
    const config = join(home, "config.jsonc");
    writeFileSync(config, JSON.stringify({ models: { local: false }, hooks }));
    const own = { PostToolUse: [{ matcher: "Edit|Write", ...hook("echo ran >> ran") }] };
    writeFileSync(join(project, ".trunkline.jsonc"), JSON.stringify({ hooks: own }));
    const trunkline = async (...args: string[]): Promise<string> => {
      const env = { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${llm.url}/v1`, NO_COLOR: "1" };
      const places = ["--config", config, "--data", data];
      await using program = new Program([...args, ...places], { cwd: project, env });
      program.child.stdin.end();
      const code = await program.exit;
      assert.equal(code, 0, program.stderr);
      return [...program.lines, program.stderr].join("\n");
    };

    llm.play([
      call("write_file", { path: "a.txt", content: "a\n" }),
      call("run_command", { command: "rm -rf build" }),
      call("remember", { note: "Builds go to out/." }),
      DONE,
    ]);
    const first = await trunkline("chat", "remember it", "--yes");
    assert.match(first, /'hooks' is ignored: this project file is not trusted/);
    assert.ok(existsSync(join(project, "a.txt")) && existsSync(join(project, "build")));
    assert.ok(!existsSync(join(project, "ran")));
    assert.match(llm.seen(), /A hook does not allow it: Do not use rm -rf: move it to \.trash/);
    assert.match(llm.seen(0), /The release is on Friday\./);

    await trunkline("config", "trust");
    llm.play([call("write_file", { path: "b.txt", content: "b\n" }), DONE]);
    const second = await trunkline("chat", "go on", "--yes");
    assert.match(llm.seen(0), /- Builds go to out\/\./);
    if (hasSandbox) assert.equal(readFileSync(join(project, "ran"), "utf8"), "ran\n");
    else assert.match(second, /The project's hooks do not run: there is no sandbox/);

    const entries = await Array.fromAsync(readAudit(data));
    const runs = entries.filter(({ event }) => event === "hook");
    const expected = [
      ["SessionStart", "user", "ok"],
      ["PreToolUse", "user", "denied"],
      ["SessionStart", "user", "ok"],
      ...(hasSandbox ? [["PostToolUse", "project", "ok"]] : []),
    ];
    assert.deepEqual(
      runs.map(({ hook: name, source, outcome }) => [name, source, outcome]),
      expected,
    );
  });
});
