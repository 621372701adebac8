import assert from "node:assert/strict";
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as pause } from "node:timers/promises";

import { RunAgentRig } from "../../test/samples/run-agent-rig.ts";
import { git, SampleRuns } from "../../test/samples/sample-runs.ts";
import { covers } from "../../test/support/requirement.ts";
import { until } from "../../test/support/until.ts";
import { TrunklineError } from "../base/errors.ts";
import { patchOf } from "./run-plan.ts";

describe("Runs.open()", () => {
  it("ends what a killed process has left running, also in workspaces that sessions still have", async () => {
    await using rig = await SampleRuns.open();
    const workspace = join(rig.folder, "other/work/abcdefgh");
    mkdirSync(workspace, { recursive: true });
    const facts = { base: rig.revision, repository: "key", driver: "copy" };
    writeFileSync(join(workspace, "workspace.json"), JSON.stringify(facts));
    const { promise, resolve } = Promise.withResolvers<string>();
    await using _ = await rig.another({ removePlace: async (name) => resolve(name) }, "other");
    assert.equal(await promise, "abcdefgh");
    assert.ok(existsSync(workspace));
  });
});

describe("a run", () => {
  it("uses MCP servers with an address, and says of the client's programs that it does not", async () => {
    covers("run.new.mcp-servers");
    await using rig = await RunAgentRig.open();
    const servers = [
      { name: "local", command: "/bin/server", args: [], env: [] },
      { type: "http", name: "web", url: "https://mcp.example/", headers: [] },
    ];
    await using session = await rig.session(async () => {}, undefined, servers);
    assert.deepEqual(session.settings._meta?.given, ["web"]);
    const said = JSON.stringify(rig.updates);
    assert.match(said, /The MCP server 'local' is not used here: it is a program on your machine/);
    assert.doesNotMatch(said, /'web'/);
  });

  it("names the repositories that it has in its cache, the last first", async () => {
    await using rig = await RunAgentRig.open();
    assert.deepEqual(rig.runs.repositories, []);
    await using _session = await rig.session(async () => {});
    assert.deepEqual(rig.runs.repositories, [`file://${rig.remote}`]);
  });

  it("is refused at its start if its result could not be pushed", async () => {
    await using rig = await RunAgentRig.open();
    // Only the program that takes pushes reads this, and ends.
    git(rig.remote, "config", "receive.unpackLimit", "nonsense");
    await assert.rejects(
      rig.session(async () => {}),
      /push/,
    );
    git(rig.remote, "config", "--unset", "receive.unpackLimit");
    await using _session = await rig.session(async () => {});
  });

  it("works on a revision that is not the newest of its branch", async () => {
    covers("run.git.fetch", "run.git.checkout", "run.remote.branch");
    await using rig = await RunAgentRig.open();
    const clone = join(rig.folder, "tree");
    writeFileSync(join(clone, "README.md"), "changed\n");
    git(clone, "commit", "--quiet", "--all", "-m", "Change");
    git(clone, "push", "--quiet", "origin", "HEAD:feature/my-branch");
    const remote = { url: `file://${rig.remote}`, branch: "feature/my-branch" };
    const files: string[] = [];
    for (const revision of [rig.revision, git(clone, "rev-parse", "HEAD")]) {
      const plan = rig.runs.plan({ remote: { ...remote, revision } });
      await using session = await rig.session(async (cwd) => {
        files.push(readFileSync(join(cwd, "README.md"), "utf8"));
        writeFileSync(join(cwd, "new.txt"), "new\n");
      }, plan);
      const end = await session.prompt(rig.turn("Add"));
      const { target } = end._meta as { target: { branch: string } };
      assert.equal(git(rig.remote, "rev-parse", `${target.branch}^`), revision);
    }
    assert.deepEqual(files, ["hello\n", "changed\n"]);
  });

  it("works on the exact revision, and pushes a branch", async () => {
    covers("run.git.branch", "run.git.execute", "run.git.commit", "run.git.push", "run.git.return");
    await using rig = await RunAgentRig.open();
    await using session = await rig.session(async (cwd) => {
      assert.equal(readFileSync(join(cwd, "README.md"), "utf8"), "hello\n");
      writeFileSync(join(cwd, "new.txt"), "new\n");
    });
    const { target: planned } = session.settings._meta as { target: { branch: string } };
    const end = await session.prompt(rig.turn("Add a file\n\nIt is new."));
    const { target } = end._meta as { target: { url: string; branch: string; revision: string } };
    assert.equal(target.branch, planned.branch);
    assert.match(target.branch, /^agent\/[a-z0-9]+$/);
    assert.equal(git(rig.remote, "rev-parse", target.branch), target.revision);
    assert.equal(git(rig.remote, "rev-parse", `${target.branch}^`), rig.revision);
    const message = git(rig.remote, "log", "-1", "--format=%an <%ae>%n%B", target.branch);
    assert.equal(
      message,
      [
        "Ada <ada@example.com>",
        "Add a file",
        "",
        "It is new.",
        "",
        "Trunkline-Session: 0d3adbee-0000-4000-8000-000000000001",
        "Co-authored-by: Bob <bob@example.com>",
      ].join("\n"),
    );
  });

  it("continues the same branch in the next turn", async () => {
    await using rig = await RunAgentRig.open();
    let count = 0;
    await using session = await rig.session(async (cwd) => {
      writeFileSync(join(cwd, `${++count}.txt`), "x");
    });
    const first = await session.prompt(rig.turn("One"));
    const second = await session.prompt(rig.turn("Two"));
    const [one, two] = [first, second].map(
      ({ _meta }) => (_meta as { target: { branch: string; revision: string } }).target,
    );
    assert.equal(one?.branch, two?.branch);
    assert.equal(git(rig.remote, "rev-parse", `${two?.branch}^`), one?.revision);
  });

  it("pushes nothing if nothing was changed, and says so", async () => {
    await using rig = await RunAgentRig.open();
    await using session = await rig.session(async () => {});
    const end = await session.prompt(rig.turn("Look"));
    assert.deepEqual(end._meta, { trunkline: { run: "unchanged" } });
    assert.match(JSON.stringify(rig.updates), /Nothing was changed/);
    assert.equal(git(rig.remote, "branch", "--list", "agent/*"), "");
  });

  it("gives the agent the files of the workspace, not those of the client", async () => {
    await using rig = await RunAgentRig.open();
    let read: string | undefined;
    await using session = await rig.session(async (cwd, { client }) => {
      assert.equal(client.terminal, undefined);
      read = await client.fs?.readTextFile?.(join(cwd, "README.md"));
    });
    await session.prompt(rig.turn("Look"));
    assert.equal(read, "hello\n");
  });

  it("reports its branch when it is resumed, even in a turn without changes", async () => {
    await using rig = await RunAgentRig.open();
    const plan = rig.runs.plan(rig.meta);
    const revisionIn = (meta: unknown): string =>
      (meta as { target: { revision: string } }).target.revision;
    let pushed: string;
    {
      await using session = await rig.session(async (cwd) => {
        writeFileSync(join(cwd, "one.txt"), "1");
      }, plan);
      assert.equal(revisionIn(session.settings._meta), rig.revision);
      pushed = revisionIn((await session.prompt(rig.turn("One")))._meta);
    }
    await using session = await rig.session(async () => {}, plan);
    assert.equal(revisionIn(session.settings._meta), pushed);
    assert.equal(revisionIn((await session.prompt(rig.turn("Look")))._meta), pushed);
  });

  it("is resumed with the commits that were not pushed", async () => {
    await using rig = await RunAgentRig.open();
    const plan = rig.runs.plan(rig.meta);
    {
      await using session = await rig.session(async (cwd) => {
        writeFileSync(join(cwd, "one.txt"), "1");
      }, plan);
      // A remote that refuses pushes for now.
      writeFileSync(join(rig.remote, "hooks/pre-receive"), "#!/bin/sh\nexit 1\n", { mode: 0o755 });
      const end = await session.prompt(rig.turn("One"));
      assert.deepEqual(end._meta, { trunkline: { run: "unpushed" } });
    }
    await rm(join(rig.remote, "hooks/pre-receive"));
    await using session = await rig.session(async () => {}, plan);
    const end = await session.prompt(rig.turn("Again"));
    const { target } = end._meta as { target: { branch: string } };
    assert.equal(git(rig.remote, "show", `${target.branch}:one.txt`), "1");
  });

  it("is resumed without caches and bases, which a backup leaves out", async () => {
    await using rig = await RunAgentRig.open();
    const plan = rig.runs.plan(rig.meta);
    let count = 0;
    const work = async (cwd: string): Promise<void> => {
      writeFileSync(join(cwd, `${++count}.txt`), "x");
    };
    {
      await using session = await rig.session(work, plan);
      await session.prompt(rig.turn("One"));
    }
    for (const name of ["cache", "bases"]) {
      await rm(join(rig.folder, "run", name), { recursive: true });
    }
    await using session = await rig.session(work, plan);
    const end = await session.prompt(rig.turn("Two"));
    const { target } = end._meta as { target: { branch: string } };
    const files = git(rig.remote, "ls-tree", "--name-only", target.branch);
    assert.equal(files, "1.txt\n2.txt\nREADME.md");
  });

  it("retries a failed push on its own, and exports a patch meanwhile", async () => {
    await using rig = await RunAgentRig.open();
    const plan = rig.runs.plan(rig.meta);
    await using session = await rig.session(async (cwd) => {
      writeFileSync(join(cwd, "new.txt"), "new\n");
    }, plan);
    const away = `${rig.remote}.away`;
    renameSync(rig.remote, away);
    const end = await session.prompt(rig.turn("Add a file"));
    assert.deepEqual(end._meta?.trunkline, { run: "unpushed" });
    assert.match(await patchOf(join(rig.folder, "run"), plan), /^\+new$/m);
    renameSync(away, rig.remote);
    const isTold = (): boolean =>
      rig.updates.some((update) => Object.hasOwn(update._meta ?? {}, "target"));
    while (!isTold()) await pause(10);
    assert.equal(git(rig.remote, "show", `${plan?.target}:new.txt`), "new");
  });

  it("makes a turn wait for a slot, and reports its position in the queue", async () => {
    await using rig = await RunAgentRig.open();
    const busy = Promise.withResolvers<void>();
    const begun = Promise.withResolvers<void>();
    await using one = await rig.session(async () => {
      begun.resolve();
      await busy.promise;
    });
    await using two = await rig.session(async () => {});
    const first = one.prompt(rig.turn("Work"));
    await begun.promise;
    const second = two.prompt(rig.turn("Wait"));
    await until(() => /1 in the queue/.test(JSON.stringify(rig.updates)));
    busy.resolve();
    await Promise.all([first, second]);
  });

  for (const [how, end] of [
    ["ends", async () => ({ stopReason: "cancelled" }) as const],
    ["fails", () => Promise.reject(new Error("stopped"))],
    ["never ends", () => new Promise<never>(() => {})],
  ] as const) {
    it(`pushes the changes of a turn that a budget stopped, by an agent that ${how} then`, async () => {
      await using rig = await RunAgentRig.open();
      const stopper = new AbortController();
      const session = await rig.session(async (cwd) => {
        writeFileSync(join(cwd, "new.txt"), "new\n");
        stopper.abort(new TrunklineError("limit", "3 of 3 steps are used."));
        return await end();
      });
      const { _meta } = await session.prompt(rig.turn("Work on", stopper.signal));
      const { target } = _meta as { target: { branch: string } };
      assert.equal(git(rig.remote, "show", `${target.branch}:new.txt`), "new");
      if (how !== "never ends") await session[Symbol.asyncDispose]();
    });
  }

  it("keeps the changes of a cancelled turn, and pushes them with the next turn", async () => {
    await using rig = await RunAgentRig.open();
    let isFirst = true;
    const stopper = new AbortController();
    await using session = await rig.session(async (cwd) => {
      if (!isFirst) return undefined;
      isFirst = false;
      writeFileSync(join(cwd, "new.txt"), "new\n");
      stopper.abort(new TrunklineError("cancelled", "The turn was cancelled"));
      return { stopReason: "cancelled" };
    });
    assert.equal((await session.prompt(rig.turn("Work", stopper.signal))).stopReason, "cancelled");
    assert.equal(git(rig.remote, "branch", "--list", "agent/*"), "");
    const { _meta } = await session.prompt(rig.turn("Go on"));
    const { target } = _meta as { target: { branch: string } };
    assert.equal(git(rig.remote, "show", `${target.branch}:new.txt`), "new");
  });

  it("refuses a file that must not be committed, and names it", async () => {
    await using rig = await RunAgentRig.open();
    await using session = await rig.session(async (cwd) => {
      writeFileSync(join(cwd, "deploy.pem"), "-----BEGIN PRIVATE KEY-----\n");
      git(cwd, "init", "--quiet", "nested");
    });
    const end = await session.prompt(rig.turn("Leak"));
    assert.deepEqual(end._meta, { trunkline: { run: "refused" } });
    assert.match(JSON.stringify(rig.updates), /deploy\.pem/);
    assert.match(JSON.stringify(rig.updates), /nested.*git repository of its own/);
    assert.equal(git(rig.remote, "branch", "--list", "agent/*"), "");
  });
});
