import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../../test/support/requirement.ts";
import {
  agreeOn,
  NEWEST_SESSION,
  NEWEST_STATELESS,
  newestStateless,
  PLAINEST,
  REVISIONS,
  SESSION_REVISIONS,
  sessionCodec,
  statelessCodec,
} from "./revisions.ts";

describe("the revisions", () => {
  it("are listed newest first, each with its own codec", () => {
    assert.deepEqual(REVISIONS, [...REVISIONS].toSorted().toReversed());
    for (const revision of REVISIONS) {
      const codec = sessionCodec(revision) ?? statelessCodec(revision);
      assert.equal(codec?.revision, revision);
    }
    assert.equal(NEWEST_STATELESS.revision, REVISIONS[0]);
    assert.equal(NEWEST_SESSION.revision, SESSION_REVISIONS[0]);
    assert.equal(PLAINEST.revision, REVISIONS.at(-1));
  });

  it("either begin with initialize or describe the client in each request", () => {
    for (const revision of REVISIONS) {
      const isSession = sessionCodec(revision) !== undefined;
      assert.notEqual(isSession, statelessCodec(revision) !== undefined, revision);
      const codec = isSession ? sessionCodec(revision) : statelessCodec(revision);
      assert.equal(codec?.lacks.has("initialize"), !isSession);
      assert.equal(codec?.lacks.has("server/discover"), isSession);
    }
  });
});

describe("agreeOn()", () => {
  it("answers with the requested revision, if it begins with initialize", () => {
    covers("mcp.lifecycle.same-version");
    for (const revision of SESSION_REVISIONS) assert.equal(agreeOn(revision).revision, revision);
  });

  it("answers all others with the newest that begins with initialize", () => {
    covers("mcp.lifecycle.other-version");
    for (const requested of ["2026-07-28", "1999-01-01", "", "constructor"]) {
      assert.equal(agreeOn(requested).revision, "2025-11-25", requested);
    }
  });
});

describe("newestStateless()", () => {
  it("finds the newest that both sides support, and nothing if the server's list is invalid", () => {
    const found = newestStateless(["2030-01-01", "2025-11-25", "2026-07-28"]);
    assert.equal(found?.revision, "2026-07-28");
    for (const supported of [undefined, null, "2026-07-28", [], ["2025-11-25"], [{}]]) {
      assert.equal(newestStateless(supported), undefined);
    }
  });
});
