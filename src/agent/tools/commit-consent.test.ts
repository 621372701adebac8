import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { chmodSync, existsSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { FakeLlm, type Scripted } from "../../../test/agent/fake-llm.ts";
import { ALLOW, REJECT, type SampleTurnOptions } from "../../../test/agent/sample-turn.ts";
import type { PermissionRequest } from "../../session/permission/permission.ts";

const ANY = { action: "commit", programs: "" };
const COMMIT: Scripted[] = [
  { toolCalls: [{ name: "git_commit", arguments: { message: "More\n\nOf it.", paths: ["a"] } }] },
  { content: "Done." },
];

class Committing implements AsyncDisposable {
  readonly rig: AgentRig;
  readonly #llm: FakeLlm;

  private constructor(llm: FakeLlm) {
    this.#llm = llm;
    this.rig = new AgentRig({ llm, files: { a: "1\n" } });
    this.rig.commitAll();
    this.rig.write("a", "2\n");
  }

  static async open(times = 1): Promise<Committing> {
    return new Committing(await FakeLlm.start(Array.from({ length: times }, () => COMMIT).flat()));
  }

  hook(name: string, script: string): void {
    this.rig.write(name, `#!/bin/sh\n${script}\n`);
    chmodSync(join(this.rig.cwd, name), 0o755);
  }

  /** Has the agent commit, and returns what was asked. */
  async commit(decide: SampleTurnOptions["decide"] = () => ALLOW): Promise<PermissionRequest> {
    const { turn } = await this.rig.turn({ prompt: "commit", decide });
    const [asked] = turn.asked;
    assert.ok(asked !== undefined && turn.asked.length === 1);
    return asked;
  }

  get commits(): number {
    return Number(this.rig.git("rev-list", "--count", "HEAD"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
    await this.#llm[Symbol.asyncDispose]();
  }
}

function shown(asked: PermissionRequest): string {
  return JSON.stringify(asked.toolCall.content);
}

describe("the permission for a commit", { timeout: 60_000 }, () => {
  it("says what is committed, and mentions no programs if there are none", async () => {
    await using at = await Committing.open();
    const asked = await at.commit();
    assert.deepEqual(asked.subject, ANY);
    assert.doesNotMatch(String(asked.toolCall.title), /runs/);
    assert.match(shown(asked), /More\\n\\nOf it\.\\n\\n- a/);
    assert.equal(at.commits, 2);
  });

  it("names the hooks that will run, and runs none if it is refused", async () => {
    await using at = await Committing.open(2);
    at.hook(".git/hooks/pre-commit", "touch ran");
    at.hook(".git/hooks/post-index-change", "touch ran");
    const refused = await at.commit(() => REJECT);
    assert.match(String(refused.toolCall.title), /runs hook pre-commit, hook post-index-change/);
    assert.match(shown(refused), /hook pre-commit: [^"]*\/\.git\/hooks\/pre-commit/);
    assert.ok(!existsSync(join(at.rig.cwd, "ran")));
    assert.equal(at.commits, 1);
    await at.commit();
    assert.ok(existsSync(join(at.rig.cwd, "ran")));
    assert.equal(at.commits, 2);
  });

  it("names what the repository configures: a hooks folder, filters, the signing program", async () => {
    await using at = await Committing.open();
    at.hook("own/commit-msg", "exit 0");
    at.hook("own/pre-push", "exit 0");
    at.rig.git("config", "core.hooksPath", "own");
    at.rig.git("config", "filter.shout.clean", "tr a-z A-Z");
    at.rig.git("config", "gpg.program", "./sign");
    at.rig.git("config", "hook.lint.command", "make lint");
    at.rig.git("config", "hook.lint.event", "pre-commit");
    const { toolCall } = await at.commit();
    const title = String(toolCall.title);
    assert.match(title, /hook commit-msg, hook lint \(pre-commit\), filter shout, signing program/);
    assert.doesNotMatch(title, /pre-push/);
  });

  it("does not block on a hook that is not a regular file", async () => {
    await using at = await Committing.open();
    execFileSync("mkfifo", ["-m", "755", join(at.rig.cwd, ".git/hooks/commit-msg")]);
    const { subject } = await at.commit(() => REJECT);
    assert.deepEqual(subject, ANY);
  });

  it("differs if the programs differ, so that 'always' does not cover new ones", async () => {
    await using at = await Committing.open(3);
    at.hook(".git/hooks/pre-commit", "true");
    const first = await at.commit(() => REJECT);
    const second = await at.commit(() => REJECT);
    at.hook(".git/hooks/pre-commit", "false");
    const third = await at.commit(() => REJECT);
    assert.deepEqual(first.subject, second.subject);
    assert.notDeepEqual(second.subject, third.subject);
    assert.notDeepEqual(first.subject, ANY);
  });

  it("is void if the hooks change while the person decides", async () => {
    await using at = await Committing.open();
    await at.commit(() => {
      at.hook(".git/hooks/pre-commit", "touch ran");
      return ALLOW;
    });
    assert.ok(!existsSync(join(at.rig.cwd, "ran")));
    assert.equal(at.commits, 1);
  });

  it("is asked for by /commit in the same way", async () => {
    await using at = await Committing.open();
    at.hook(".git/hooks/pre-commit", "touch ran");
    const { turn } = await at.rig.turn({ prompt: "/commit More", decide: () => REJECT });
    assert.match(String(turn.asked[0]?.toolCall.title), /runs hook pre-commit of this repository/);
    assert.ok(!existsSync(join(at.rig.cwd, "ran")));
  });
});
