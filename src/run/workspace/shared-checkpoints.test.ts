import assert from "node:assert/strict";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { git, SampleRuns } from "../../../test/samples/sample-runs.ts";
import { OWNER } from "../../base/principal.ts";
import type { Turn } from "../../session/agent.ts";
import type { Run } from "../run.ts";
import type { Runs } from "../runs.ts";
import type { SharedCheckpoints } from "./shared-checkpoints.ts";

/** What machines share, in memory. */
class Shelf {
  readonly packed = new Map<string, { machine: string; packed: Buffer }>();
  fails = false;

  of(machine: string): SharedCheckpoints {
    return {
      save: async ({ workspace }, packed) => {
        if (this.fails) throw new Error("The shelf is full");
        this.packed.set(workspace, { machine, packed });
      },
      load: async ({ workspace }, hasOwn) => {
        const found = this.packed.get(workspace);
        return found?.machine === machine && hasOwn ? undefined : found?.packed;
      },
      remove: async (workspace) => void this.packed.delete(workspace),
    };
  }
}

/** Two machines with a repository. */
class Rig implements AsyncDisposable {
  readonly shelf = new Shelf();
  readonly plan: NonNullable<ReturnType<Runs["plan"]>>;
  readonly sample: SampleRuns;
  readonly #second: Runs;

  private constructor(sample: SampleRuns, second: Runs, shelf: Shelf) {
    this.sample = sample;
    this.#second = second;
    this.shelf = shelf;
    const plan = sample.runs.plan(sample.meta);
    assert.ok(plan !== undefined);
    this.plan = plan;
  }

  static async open(): Promise<Rig> {
    const shelf = new Shelf();
    const sample = await SampleRuns.open({ carried: shelf.of("one") });
    const second = await sample.another({ carried: shelf.of("two") }, "second");
    return new Rig(sample, second, shelf);
  }

  async run(machine: "one" | "two"): Promise<Run> {
    const runs = machine === "one" ? this.sample.runs : this.#second;
    const run = await runs.open(this.plan, "s1");
    await run.prepare(() => {});
    return run;
  }

  onRemote(): string {
    return git(this.sample.remote, "log", "--format=%s", `main..${this.plan.target}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#second[Symbol.asyncDispose]();
    await this.sample[Symbol.asyncDispose]();
  }
}

const TURN = {
  prompt: [{ type: "text", text: "Work" }],
  principal: OWNER,
  signal: new AbortController().signal,
} as unknown as Turn;

describe("carried checkpoints", { timeout: 300_000 }, () => {
  it("let another machine continue with the files of an interrupted turn", async () => {
    await using rig = await Rig.open();
    const first = await rig.run("one");
    const { tree } = first.workspace;
    writeFileSync(join(tree, "new.txt"), "half\n");
    rmSync(join(tree, "README.md"));
    await first.checkpoint();
    // The machine is lost here.
    const second = await rig.run("two");
    assert.notEqual(second.workspace.tree, tree);
    assert.equal(readFileSync(join(second.workspace.tree, "new.txt"), "utf8"), "half\n");
    assert.throws(() => readFileSync(join(second.workspace.tree, "README.md")), /ENOENT/);
    assert.equal(git(second.workspace.tree, "status", "--short"), "D README.md\n?? new.txt");
    const delivery = await second.deliver(TURN);
    assert.equal(delivery.kind, "pushed");
    assert.equal(rig.onRemote(), "Work");
    await second.close();
    await first.close();
  });

  it("carry commits that were pushed, and go back to the first machine", async () => {
    await using rig = await Rig.open();
    const first = await rig.run("one");
    writeFileSync(join(first.workspace.tree, "a.txt"), "1\n");
    await first.checkpoint();
    writeFileSync(join(first.workspace.tree, "a.txt"), "2\n");
    assert.equal((await first.deliver(TURN)).kind, "pushed");
    await first.close();
    const second = await rig.run("two");
    assert.equal(readFileSync(join(second.workspace.tree, "a.txt"), "utf8"), "2\n");
    assert.equal(second.pushed?.revision, first.pushed?.revision);
    writeFileSync(join(second.workspace.tree, "a.txt"), "3\n");
    assert.equal((await second.deliver(TURN)).kind, "pushed");
    await second.close();
    const third = await rig.run("one");
    assert.equal(readFileSync(join(third.workspace.tree, "a.txt"), "utf8"), "3\n");
    assert.equal(rig.onRemote(), "Work\nWork");
    await third.close();
  });

  it("keep the own workspace, with files that no checkpoint has, where no other machine worked", async () => {
    await using rig = await Rig.open();
    const first = await rig.run("one");
    writeFileSync(join(first.workspace.tree, "a.txt"), "1\n");
    await first.checkpoint();
    writeFileSync(join(first.workspace.tree, "a.txt"), "2\n");
    await first.close();
    const again = await rig.run("one");
    assert.equal(readFileSync(join(again.workspace.tree, "a.txt"), "utf8"), "2\n");
    await again.close();
  });

  it("are stored before a commit is pushed: nothing is on the remote that no other machine could continue", async () => {
    await using rig = await Rig.open();
    const first = await rig.run("one");
    writeFileSync(join(first.workspace.tree, "a.txt"), "1\n");
    rig.shelf.fails = true;
    const delivery = await first.deliver(TURN);
    assert.equal(delivery.kind, "unpushed");
    assert.equal(git(rig.sample.remote, "branch", "--list", rig.plan.target), "");
    rig.shelf.fails = false;
    await first.pushKept(() => {});
    assert.equal(rig.onRemote(), "Work");
    await first.close();
  });

  it("recognise a push of a machine that was lost right after it", async () => {
    await using rig = await Rig.open();
    const first = await rig.run("one");
    writeFileSync(join(first.workspace.tree, "a.txt"), "1\n");
    assert.equal((await first.deliver(TURN)).kind, "pushed");
    const before = rig.shelf.packed.get(rig.plan.workspace);
    assert.ok(before !== undefined);
    const second = await rig.run("two");
    await second.workspace.git.run(["update-ref", "-d", "refs/trunkline/pushed"]);
    const pushed: string[] = [];
    await second.pushKept(({ revision }) => pushed.push(revision));
    assert.deepEqual(pushed, [first.pushed?.revision]);
    assert.equal(rig.onRemote(), "Work");
    await second.close();
    await first.close();
  });

  it("are removed with their run", async () => {
    await using rig = await Rig.open();
    const first = await rig.run("one");
    await first.checkpoint();
    await first.close();
    await rig.sample.runs.remove(rig.plan);
    assert.equal(rig.shelf.packed.size, 0);
  });
});
