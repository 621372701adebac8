import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { until } from "../../test/support/until.ts";
import type { Connection } from "../wire/quic/connection.ts";
import { boundedReport, guestGuard } from "./guests.ts";

describe("boundedReport()", () => {
  it("reports a limited number of each kind, and how many were left out", () => {
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

describe("guestGuard()", () => {
  const connection = (name: string) => ({ peer: { name } }) as Connection;

  it("has one ledger for all connections of a plugin, and one for each other connection", () => {
    const guestOf = ({ peer }: Connection) => ({
      name: peer?.name ?? "",
      isPlugin: peer?.name === "plugin",
      mayCall: () => true,
    });
    const guard = guestGuard(guestOf);
    const [first, second] = [connection("plugin"), connection("plugin")];
    assert.equal(guard.ledgerOf(first), guard.ledgerOf(second));
    const [one, other] = [connection("bridge"), connection("bridge")];
    assert.notEqual(guard.ledgerOf(one), guard.ledgerOf(other));
    assert.equal(guard.ledgerOf(one), guard.ledgerOf(one));
  });

  it("limits a plugin's work in one turn, over all of its connections", async () => {
    const guard = guestGuard(() => ({ name: "p", isPlugin: true, mayCall: () => true }));
    const begun: number[] = [];
    for (let count = 0; count < 100; count++) {
      guard.begin(guard.ledgerOf(connection("p")), () => void begun.push(count));
    }
    assert.ok(begun.length <= 32, `${begun.length} were begun at once`);
    await until(() => begun.length >= 100);
  });
});
