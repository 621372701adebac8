import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { boundedReport } from "./guest-guard.ts";

describe("boundedReport()", () => {
  it("passes on a readable number of each kind, and says how many were left out", () => {
    const said: string[] = [];
    let time = 0;
    const report = boundedReport(
      (event, fields) => said.push(`${event} ${JSON.stringify(fields)}`),
      () => time,
    );
    for (let number = 0; number < 10_000; number++) report("bad", { number });
    assert.equal(said.length, 20);
    report("other", {});
    assert.equal(said.at(-1), "other {}");
    time = 11_000;
    report("bad", { number: "last" });
    report("bad", { number: "after" });
    assert.deepEqual(said.slice(-2), [
      'bad {"number":"last","leftOut":9980}',
      'bad {"number":"after"}',
    ]);
  });
});
