import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

const ROOT = join(import.meta.dirname, "../..");
const PROGRAM = join(ROOT, "dist/trunkline.js");
const AGENT = join(ROOT, "test/support/acp-agent.mjs");

/** A person without a model. */
class Home implements Disposable {
  readonly path = mkdtempSync(join(tmpdir(), "trunkline-no-model-"));
  readonly config = join(this.path, "config.jsonc");
  readonly env: NodeJS.ProcessEnv = {
    HOME: this.path,
    PATH: `${this.path}/bin:/usr/bin:/bin`,
    TERM: "xterm",
    NO_COLOR: "1",
    TRUNKLINE_CONFIG: this.config,
    TRUNKLINE_DATA: join(this.path, "data"),
    TRUNKLINE_TOKEN_STORE: "file",
  };

  constructor() {
    writeFileSync(this.config, JSON.stringify({ models: { local: false } }));
  }

  /** Installs an agent under the name of goose. */
  install(): string {
    const goose = join(this.path, "bin/goose");
    mkdirSync(join(this.path, "bin"));
    writeFileSync(goose, `#!/bin/sh\nexec '${process.execPath}' '${AGENT}'\n`);
    chmodSync(goose, 0o755);
    return goose;
  }

  run(...args: string[]): { code: number | null; out: string; err: string } {
    const options = { input: "", encoding: "utf8", cwd: this.path, env: this.env } as const;
    const ran = spawnSync(process.execPath, [PROGRAM, ...args], options);
    return { code: ran.status, out: ran.stdout, err: ran.stderr };
  }

  [Symbol.dispose](): void {
    rmSync(this.path, { recursive: true });
  }
}

describe("without a model", { timeout: 600_000 }, () => {
  it("a task of chat or run fails with what to do, and commands work", () => {
    using home = new Home();
    const goose = home.install();
    for (const words of [
      ["chat", "fix the bug"],
      ["chat", "fix the bug", "--json"],
    ]) {
      const { code, out, err } = home.run(...words);
      assert.equal(code, 1);
      assert.equal(out, "");
      assert.match(err, /no language model is set up.*ANTHROPIC_API_KEY/);
      assert.ok(err.includes(`trunkline agent add goose --default -- ${goose} acp`), err);
    }
    const listed = home.run("session", "list", "--json");
    assert.deepEqual(JSON.parse(listed.out).sessions, [], "no session was begun");
    const commands = home.run("chat", "/help");
    assert.equal(commands.code, 0, commands.err);
    assert.match(commands.out, /`\/undo/);
    for (const args of [
      ["init", "-q"],
      ["commit", "-q", "--allow-empty", "-m", "x"],
    ]) {
      const who = ["-c", "user.name=A", "-c", "user.email=a@example.org"];
      spawnSync("git", [...who, ...args], { cwd: home.path });
    }
    const ran = home.run("run", ".", "fix the bug", "--yes");
    assert.equal(ran.code, 1);
    assert.match(ran.err, /no language model is set up/);
    assert.equal(ran.out, "", "it stops before it fetches anything");
  });

  it("chat at a terminal offers an agent that is installed, and adds it on a yes", async (test) => {
    if (spawnSync("script", ["--version"]).status !== 0) {
      return test.skip("needs `script` of util-linux: install bsdutils");
    }
    using home = new Home();
    const goose = home.install();
    const command = `'${process.execPath}' '${PROGRAM}' chat`;
    for (const [answer, after] of [
      ["n\r", /\[y\/N\][^]*> \/ for commands[^]*trunkline . offline/],
      ["y\r", /Added agent 'goose'[^]*> \/ for commands[^]*goose/],
    ] as const) {
      const child = spawn("script", ["-qec", command, "/dev/null"], {
        cwd: home.path,
        env: home.env,
      });
      const closed = once(child, "close");
      let shown = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (shown += text));
      const until = async (pattern: RegExp): Promise<void> => {
        while (!pattern.test(shown)) await once(child.stdout, "data");
      };
      await until(/goose is installed \([^]*\[y\/N\]/);
      child.stdin.write(answer);
      await until(after);
      child.stdin.write("\x04");
      await closed;
    }
    const { agent, agents } = JSON.parse(readFileSync(home.config, "utf8")) as Record<
      string,
      object
    >;
    assert.equal(agent, "goose");
    assert.deepEqual(agents, { goose: { command: goose, args: ["acp"] } });
    assert.equal(home.run("chat", "say", "hello").out, "hello\n");
  });
});
