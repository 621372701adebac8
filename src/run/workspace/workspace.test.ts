import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, readdirSync, symlinkSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";
import { NO_CREDENTIALS } from "../../../test/samples/sample-credentials.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { ServerRepository } from "../../../test/support/server-repository.ts";
import { RepositoryCache } from "../repository-cache.ts";
import { WorkspaceBases } from "./bases.ts";
import { CopyDriver } from "./copy.ts";
import { diskUse, Workspaces } from "./workspace.ts";
import { OverlayDriver } from "./overlay.ts";

describe("diskUse()", () => {
  it("agrees with du", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(join(folder.path, "a/b"), { recursive: true });
    writeFileSync(join(folder.path, "a/b/file"), Buffer.alloc(300_000, "x"));
    writeFileSync(join(folder.path, "empty"), "");
    symlinkSync("/", join(folder.path, "root"));
    const du = execFileSync("du", ["-sk", folder.path], { encoding: "utf8" });
    assert.equal(await diskUse(folder.path), Number.parseInt(du, 10) * 1024);
  });
});

describe("Workspaces", () => {
  it("refuses a tree that the current driver cannot open, and would show as empty", async () => {
    using sample = new ServerRepository();
    const common = { askpass: "/bin/false", protocols: ["file"] };
    const folder = join(sample.folder, "cache");
    const cache = new RepositoryCache({ folder, report: () => {}, ...common });
    const repository = cache.at(sample.url, NO_CREDENTIALS);
    await repository.fill(NO_CREDENTIALS);
    const bases = new WorkspaceBases({ folder: join(sample.folder, "bases"), most: 1 });
    const work = { folder: join(sample.folder, "work"), bases, ...common };
    const { revision } = sample;
    const request = { session: "s", repository, revision, branch: "agent/s", owner: undefined };
    const copies = new Workspaces({ ...work, driver: new CopyDriver("copy") });
    const workspace = await copies.open(request);
    // Locks of a killed git would make every later git fail.
    writeFileSync(join(workspace.git.gitDir, "index.lock"), "");
    writeFileSync(join(workspace.git.gitDir, "refs/heads/agent/s.lock"), "");
    await workspace.close();
    await using driver = new OverlayDriver();
    await assert.rejects(new Workspaces({ ...work, driver }).open(request), {
      message: /Cannot open the workspace: it was made with copy, and this server uses overlay/,
    });
    const again = await copies.open(request);
    await again.git.run(["add", "--all"]);
    await again.git.run(["update-ref", "refs/heads/agent/s", revision]);
    await again.close();
  });

  it("removes what was left before it had begun, and nothing that somebody may have worked on", async () => {
    await using sample = await SampleFolder.create();
    const folder = join(sample.path, "work");
    const bases = new WorkspaceBases({ folder: join(sample.path, "bases"), most: 1 });
    const options = { folder, bases, driver: new CopyDriver("copy"), askpass: "/bin/false" };
    await using workspaces = new Workspaces({ ...options, protocols: ["file"] });
    for (const name of ["left", "beginning", "unreadable"]) {
      mkdirSync(join(folder, name, "git"), { recursive: true });
    }
    writeFileSync(join(folder, "unreadable/workspace.json"), "{");
    for (const name of ["left", "unreadable"]) utimesSync(join(folder, name), 0, 0);
    await workspaces.sweep();
    assert.deepEqual(readdirSync(folder).toSorted(), ["beginning", "unreadable"]);
  });
});
