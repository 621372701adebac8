import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { JetStreamApiError } from "@nats-io/jetstream";
import { errors } from "@nats-io/nats-core";
import { TrunklineError } from "../../base/errors.ts";
import {
  ATTEMPTS,
  ELECTION_ATTEMPTS,
  newRecord,
  OutdatedError,
  readEntry,
  retryUnanswered,
  type SessionEntry,
} from "./session-entry.ts";

const ENTRY: SessionEntry = {
  record: newRecord({
    id: "s1",
    cwd: "/w",
    agent: "a",

    notes: {},
  }),
  epoch: 1,
  born: 1,
  node: "n",
  write: "w:1",
};

describe("readEntry()", () => {
  it("reads an entry as it was written", () => {
    const text = JSON.stringify(ENTRY);
    assert.deepEqual(readEntry("s1", text), JSON.parse(text));
  });

  it("reads nothing else, so that a wrong entry costs its own session only", () => {
    const { record } = ENTRY;
    const wrong: unknown[] = [
      null,
      7,
      [],
      {},
      { ...ENTRY, record: null },
      { ...ENTRY, record: { ...record, id: "s2" } },
      { ...ENTRY, record: { ...record, cwd: 7 } },
      { ...ENTRY, record: { ...record, updated: "yesterday" } },
      { ...ENTRY, record: { ...record, notes: null } },
      { ...ENTRY, epoch: "1" },
      { ...ENTRY, holder: { toString: 1 } },
    ];
    for (const entry of wrong) assert.equal(readEntry("s1", JSON.stringify(entry)), undefined);
    assert.equal(readEntry("s1", "{"), undefined);
    const odd = { ...ENTRY, record: { ...record, id: "../a" } };
    assert.equal(readEntry("../a", JSON.stringify(odd)), undefined);
  });
});

describe("retryUnanswered", () => {
  /** How often a work that fails in this way is tried, and what the caller is told. */
  async function tried(
    ...errors: (Error | undefined)[]
  ): Promise<{ attempts: number; outcome: unknown }> {
    let attempts = 0;
    const outcome = await retryUnanswered(
      async () => {},
      async () => {
        const error = errors[Math.min(attempts++, errors.length - 1)];
        if (error !== undefined) throw error;
        return "done";
      },
    ).catch((error: unknown) => error);
    return { attempts, outcome };
  }

  it("repeats what was not answered", async () => {
    const away = new TrunklineError("unavailable", "There is no connection to NATS.");
    assert.deepEqual(await tried(new Error("timeout"), away, undefined), {
      attempts: 3,
      outcome: "done",
    });
  });

  it("says in words that NATS does not answer, after some attempts", async () => {
    const { attempts, outcome } = await tried(new Error("timeout"));
    assert.equal(attempts, ATTEMPTS);
    assert.ok(outcome instanceof TrunklineError);
    assert.equal(outcome.code, "unavailable");
    assert.equal(outcome.message, "NATS does not answer: timeout.");
  });

  it("repeats until the servers have elected a leader, which takes seconds", async () => {
    const cause = new errors.RequestError("no responders", {
      cause: new errors.NoRespondersError("$JS.API.INFO"),
    });
    const nobody = new Error("jetstream is not enabled", { cause });
    const noLeader = new JetStreamApiError({ code: 503, err_code: 10_008, description: "none" });
    for (const error of [nobody, noLeader]) {
      const errors = Array.from({ length: ELECTION_ATTEMPTS - 1 }, () => error);
      assert.equal((await tried(...errors, undefined)).outcome, "done");
      assert.equal((await tried(error)).attempts, ELECTION_ATTEMPTS);
    }
  });

  it("does not repeat what would end in the same way", async () => {
    const outdated = new OutdatedError("wrong last sequence");
    assert.deepEqual(await tried(outdated), { attempts: 1, outcome: outdated });
  });
});
