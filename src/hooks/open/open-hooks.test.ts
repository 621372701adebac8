import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { AppContext } from "../../config/app-context.ts";
import { defaultConfig } from "../../config/config.ts";
import { trustProject } from "../../config/trust/project-trust.ts";
import { lazySandbox } from "../../sandbox/open/lazy-sandbox.ts";
import { localSandboxStatus } from "../../sandbox/open/local-sandbox-status.ts";
import type { HookVerdict } from "../hooks.ts";
import { openHooks } from "./open-hooks.ts";

const { state, says, next } = await localSandboxStatus(defaultConfig(tmpdir()));
const skip = state !== "ok" && `${says}. ${next}`;

/** A command of a hook, as a configuration file has it. */
function file(command: string): string {
  const hooks = { PreToolUse: [{ matcher: "Bash", hooks: [{ type: "command", command }] }] };
  return JSON.stringify({ hooks });
}

/** A user and a project, both with a hook. */
class Rig implements AsyncDisposable {
  readonly home: SampleHome;
  readonly audit: Record<string, unknown>[] = [];
  readonly #env: NodeJS.ProcessEnv;

  private constructor(home: SampleHome) {
    this.home = home;
    this.#env = {
      HOME: home.path,
      PATH: `.:bin:${process.env.PATH}`,
      MY_API_KEY: "sk-word",
      MY_OWN: "mine",
    };
  }

  static async open(own: string, project: string): Promise<Rig> {
    const rig = new Rig(await SampleHome.create());
    await rig.home.write(rig.home.userFile, own);
    await rig.home.write(rig.home.projectFile, project);
    return rig;
  }

  async trust(): Promise<void> {
    await trustProject({ cwd: this.home.project, env: this.#env, flags: {} });
  }

  /** One call of a command in a new session. */
  async call(hasSandbox = true): Promise<{ verdict: HookVerdict; problems: readonly string[] }> {
    const { config, files } = await this.home.load();
    const app = new AppContext(config, {
      files: files.map(({ path }) => path),
      load: async () => config,
    });
    const cwd = this.home.project;
    const audit = { record: (entry: object) => this.audit.push({ ...entry }) };
    await using sandbox = hasSandbox ? lazySandbox(app, this.#env)([cwd]) : undefined;
    const open = openHooks(app, audit, this.#env);
    await using hooks = await open({ sessionId: "s1", cwd, sandbox });
    const { signal } = new AbortController();
    const input = { tool_name: "Bash", tool_input: { command: "ls --token=sk-word" } };
    const occasion = { event: "PreToolUse", names: ["Bash"], input, signal, by: "ann" } as const;
    return { verdict: await hooks.run(occasion), problems: hooks.problems };
  }

  read(name: string): string {
    const path = join(this.home.project, name);
    return existsSync(path) ? readFileSync(path, "utf8") : "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.home[Symbol.asyncDispose]();
  }
}

const OWN = 'echo "$HOME $MY_OWN $MY_API_KEY" >> own; touch "$HOME/outside"; echo "$PATH" > path';
const PROJECT = 'echo "$MY_OWN $MY_API_KEY" >> theirs; touch "$HOME/.bashrc"; cat > told';

describe("hooks of the configuration", () => {
  it("run as the user if they are the user's own, with the user's environment, on record", async () => {
    await using rig = await Rig.open(file(OWN), "{}");
    const { verdict, problems } = await rig.call(false);
    assert.deepEqual([verdict.messages, problems], [[], []]);
    assert.equal(rig.read("own"), `${rig.home.path} mine sk-word\n`);
    assert.ok(existsSync(join(rig.home.path, "outside")));
    const folders = rig.read("path").trim().split(":");
    assert.ok(
      folders.every((folder) => folder.startsWith("/")),
      "no program of the project's",
    );
    const [{ time, milliseconds, ...entry } = {}] = rig.audit;
    assert.equal(typeof time, "string");
    assert.equal(typeof milliseconds, "number");
    assert.deepEqual(entry, {
      event: "hook",
      hook: "PreToolUse",
      session: "s1",
      workspace: rig.home.project,
      by: "ann",
      source: "user",
      command: OWN,
      tool: "Bash",
      outcome: "ok",
      reason: undefined,
    });
  });

  it("of a project do not run until its file is trusted, nor after it has changed, which is said", async () => {
    await using rig = await Rig.open(file(OWN), file(PROJECT));
    const untrusted = await rig.call();
    assert.match(untrusted.problems.join(), /'hooks' is ignored: this project file is not trusted/);
    await rig.trust();
    await rig.home.write(rig.home.projectFile, file(`${PROJECT} `));
    assert.match((await rig.call()).problems.join(), /not trusted/);
    assert.equal(rig.read("theirs"), "");
    assert.equal(rig.read("own").split("\n").length, 3, "the user's own run all the same");
    assert.ok(rig.audit.every(({ source }) => source === "user"));
  });

  it(
    "of a project that is trusted run in the sandbox, beside the user's own",
    { skip },
    async () => {
      await using rig = await Rig.open(file(OWN), file(PROJECT));
      await rig.trust();
      const { verdict, problems } = await rig.call();
      assert.deepEqual([verdict.messages, problems], [[], []]);
      assert.equal(rig.read("theirs"), " \n");
      assert.match(rig.read("told"), /"hook_event_name":"PreToolUse"/);
      assert.ok(!existsSync(join(rig.home.path, ".bashrc")), "its home is not the user's");
      assert.match(rig.read("own"), / mine /);
      assert.deepEqual(
        rig.audit.map(({ source, outcome }) => [source, outcome]),
        [
          ["project", "ok"],
          ["user", "ok"],
        ],
      );
      const without = await rig.call(false);
      assert.match(without.verdict.messages.join(), /do not run: there is no sandbox/);
      assert.equal(rig.read("theirs"), " \n");
    },
  );

  it("of the user run although the project's file is broken, those of --set too, and none if the user's own file is", async () => {
    await using rig = await Rig.open(file(OWN), "{}");
    const { config } = await rig.home.load();
    await rig.home.write(rig.home.projectFile, "{ broken");
    const open = openHooks(new AppContext(config), { record: () => {} }, { HOME: rig.home.path });
    const session = { sessionId: "s1", cwd: rig.home.project, sandbox: undefined };
    await using hooks = await open(session);
    assert.equal(hooks.has("PreToolUse", ["Bash"]), true);
    assert.match(hooks.problems.join(), /The project's hooks do not run: .*\.trunkline\.jsonc/);
    const set = [`hooks.Stop=[{"hooks":[{"command":"true"}]}]`];
    const load = async () => config;
    const given = openHooks(
      new AppContext(config, { files: [], set, load }),
      { record: () => {} },
      { HOME: rig.home.path },
    );
    await using withSet = await given(session);
    assert.deepEqual([withSet.has("Stop"), withSet.has("PreToolUse", ["Bash"])], [true, true]);
    await rig.home.write(rig.home.userFile, "{ broken");
    await assert.rejects(open(session), { code: "config" });
  });
});
