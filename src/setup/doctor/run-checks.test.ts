import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { TrunklineError } from "../../base/errors.ts";
import { type Check, Checks, type Finding } from "./check.ts";

const LATE = "Wait longer.";

function good(what: string): Finding {
  return { state: "ok", what, says: "works" };
}

async function run(checks: Checks, ...list: Check[]): Promise<Finding[]> {
  return Array.fromAsync(checks.run(list));
}

describe("Checks", () => {
  it("runs checks at the same time, and yields their findings in order", async () => {
    const checks = new Checks({ patience: 5_000, ifLate: LATE });
    let release = (): void => {};
    const gate = new Promise<void>((resolve) => (release = resolve));
    const found = await run(
      checks,
      { what: "first", examine: () => gate.then(() => [good("first")]) },
      // Were they run one after the other, the first would never end.
      {
        what: "second",
        examine: () => {
          release();
          return [good("second")];
        },
      },
    );
    assert.deepEqual(
      found.map(({ what }) => what),
      ["first", "second"],
    );
  });

  it("makes a finding of a check that throws", async () => {
    const checks = new Checks({ patience: 5_000, ifLate: LATE });
    const broken = { what: "broken", examine: () => assert.fail("the disk is on fire") };
    const why = new TrunklineError("config", "the file is damaged");
    const known = { what: "known", examine: () => Promise.reject(why) };
    const found = await run(checks, broken, known, { what: "x", examine: () => [good("x")] });
    assert.deepEqual(
      found.map(({ state }) => state),
      ["fail", "fail", "ok"],
    );
    assert.match(found[0]?.says ?? "", /could not be checked: the disk is on fire$/);
    assert.match(found[0]?.next ?? "", /--verbose/);
    assert.match(found[1]?.next ?? "", /as the message says/);
    const verbose = new Checks({ patience: 5_000, ifLate: LATE, isVerbose: true });
    assert.match((await run(verbose, broken))[0]?.says ?? "", /\n +at /);
  });

  it("gives up a check that hangs, tells it so, and waits for none of the others longer", async () => {
    const checks = new Checks({ patience: 50, ifLate: LATE });
    let wasTold = false;
    const hangs: Check = {
      what: "hangs",
      examine: async ({ signal }) => {
        await sleep(60_000, undefined, { signal }).catch(() => (wasTold = true));
        return [good("hangs")];
      },
    };
    const found = await run(checks, hangs, { what: "x", examine: () => [good("x")] });
    const [late, other] = found;
    assert.deepEqual([late?.state, late?.what, late?.next], ["warn", "hangs", LATE]);
    assert.match(late?.says ?? "", /no answer within 0\.1 s/);
    assert.equal(other?.state, "ok");
    assert.equal(await checks.settled(5_000), true);
    assert.ok(wasTold);
  });

  it("knows whether something that checks have left behind is still busy", async () => {
    const checks = new Checks({ patience: 5_000, ifLate: LATE });
    const ending = Promise.withResolvers<void>();
    const check: Check = {
      what: "x",
      examine: ({ endsLater }) => {
        endsLater(ending.promise);
        return [good("x")];
      },
    };
    await run(checks, check);
    assert.equal(await checks.settled(20), false);
    ending.reject(new Error("It could not be ended"));
    assert.equal(await checks.settled(5_000), true);
  });
});
