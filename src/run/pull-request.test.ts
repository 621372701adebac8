import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { ServerRepository } from "../../test/support/server-repository.ts";
import { BASE } from "./deliver.ts";
import {
  type Proposal,
  type ProposalResult,
  readRequestMode,
  type RunRequest,
  openRequest,
  wordsOnRequest,
} from "./pull-request.ts";

const CREATED = { state: "created", number: 7, url: "https://forge.test/7" } as const;

/** A branch with commits, and a forge with scripted answers. */
class Rig implements Disposable {
  readonly repository = new ServerRepository();
  readonly proposals: Proposal[] = [];
  answers: ProposalResult[] = [];

  constructor() {
    this.repository.run("update-ref", BASE, this.repository.revision);
  }

  request(): RunRequest {
    return openRequest({
      git: this.repository.git,
      session: "s1",
      base: "main",
      isDraft: true,
      propose: async (proposal) => {
        this.proposals.push(proposal);
        return this.answers.shift() ?? CREATED;
      },
    });
  }

  commit(path: string, title: string) {
    this.repository.write(path, "x\n");
    const revision = this.repository.commit(title);
    return { url: this.repository.url, branch: "agent/x", revision };
  }

  [Symbol.dispose](): void {
    this.repository[Symbol.dispose]();
  }
}

describe("RunRequest", () => {
  it("describes the whole branch, not only the last turn", async () => {
    using rig = new Rig();
    const request = rig.request();
    assert.deepEqual(await request.update(rig.commit("a.txt", "First")), CREATED);
    await request.update(rig.commit("b.txt", "Second"));
    const [first, second] = rig.proposals;
    assert.equal(first?.known, undefined);
    assert.equal(first?.isDraft, true);
    assert.equal(second?.known, 7);
    assert.deepEqual(second?.work.titles, ["First", "Second"]);
    assert.equal(second?.work.commits, 2);
    assert.equal(second?.work.since, rig.repository.revision);
    assert.match(second?.work.stat ?? "", /a\.txt \| 1 \+\n b\.txt \| 1 \+\n 2 files changed/);
  });

  it("does not call the forge if the pull request is up to date, even after a restart", async () => {
    using rig = new Rig();
    const target = rig.commit("a.txt", "First");
    await rig.request().update(target);
    const again = rig.request();
    assert.deepEqual(again.known, { url: CREATED.url, number: 7 });
    assert.equal(await again.update(target), undefined);
    assert.equal(rig.proposals.length, 1);
  });

  it("retries with the next turn, and ignores a damaged file", async () => {
    using rig = new Rig();
    const target = rig.commit("a.txt", "First");
    rig.answers = [{ state: "failed", why: "It is away." }];
    const request = rig.request();
    assert.equal((await request.update(target))?.state, "failed");
    assert.equal(request.known, undefined);
    assert.equal((await request.update(target))?.state, "created");
    writeFileSync(join(rig.repository.tree, ".git/trunkline-request.json"), "{ torn");
    assert.equal((await rig.request().update(target))?.state, "created");
  });

  it("reports a failure of git, and does not throw", async () => {
    using rig = new Rig();
    const result = await rig
      .request()
      .update({ ...rig.commit("a", "A"), revision: "0".repeat(40) });
    assert.equal(result?.state, "failed");
    assert.equal(rig.proposals.length, 0);
  });

  it("stops a call to the forge when the run is stopped", async () => {
    using rig = new Rig();
    const request = rig.request();
    await request.update(rig.commit("a.txt", "First"));
    request.stop();
    assert.equal(rig.proposals[0]?.signal.aborted, true);
  });
});

describe("readRequestMode()", () => {
  it("is what the client asks for, or else what is configured", () => {
    const mode = (pullRequest: unknown, configured: "off" | "draft" | "ready") =>
      readRequestMode({ trunkline: { pullRequest } }, configured);
    assert.equal(mode(undefined, "draft"), "draft");
    assert.equal(mode(true, "off"), "ready");
    assert.equal(mode(true, "draft"), "draft");
    assert.equal(mode(false, "ready"), "off");
    assert.equal(mode("draft", "off"), "draft");
    assert.equal(readRequestMode(undefined, "ready"), "ready");
    assert.throws(() => mode("yes", "off"), /_meta\.trunkline\.pullRequest' must be true/);
  });
});

describe("wordsOnRequest()", () => {
  it("says where the pull request is, or why there is none and where to open it", () => {
    assert.equal(wordsOnRequest(CREATED), "Opened pull request #7, https://forge.test/7");
    assert.match(
      wordsOnRequest({ ...CREATED, state: "closed" }),
      /is closed, so it was not updated/,
    );
    const failed = { state: "failed", why: "No token.", page: "https://forge.test/new" } as const;
    assert.equal(
      wordsOnRequest(failed),
      "The branch is pushed, but there is no pull request for it: No token. Open it yourself: https://forge.test/new",
    );
  });
});
