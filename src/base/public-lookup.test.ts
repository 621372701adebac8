import assert from "node:assert/strict";
import type { LookupAddress } from "node:dns";
import { describe, it } from "node:test";

import { publicLookup, refusePrivate } from "./public-lookup.ts";

const refuse = (address: string): Error => new Error(`refused ${address}`);

function looked(addresses: readonly LookupAddress[], all: boolean): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const lookup = publicLookup({ refuse, resolve: (_, found) => found(null, [...addresses]) });
    lookup("x.test", { all }, (error, address) =>
      error === null ? resolve(address) : reject(error),
    );
  });
}

const PUBLIC = { address: "93.184.215.14", family: 4 };
const INSIDE = { address: "10.0.0.1", family: 4 };

describe("publicLookup()", () => {
  it("gives the addresses of a public name", async () => {
    assert.equal(await looked([PUBLIC], false), PUBLIC.address);
    assert.deepEqual(await looked([PUBLIC], true), [PUBLIC]);
  });

  it("refuses a name if one of its addresses is private, or there is none", async () => {
    for (const all of [true, false]) {
      await assert.rejects(looked([PUBLIC, INSIDE], all), /refused 10\.0\.0\.1/);
      await assert.rejects(looked([], all), /'x\.test' has no address/);
    }
  });
});

describe("refusePrivate()", () => {
  it("refuses private addresses in every spelling of a URL", () => {
    const hosts = [
      "127.0.0.1",
      "2130706433",
      "0x7f.1",
      "[::1]",
      "[::ffff:10.0.0.1]",
      "169.254.1.1",
    ];
    for (const host of hosts) {
      assert.throws(() => refusePrivate(new URL(`http://${host}/`), { refuse }), /refused/, host);
    }
    refusePrivate(new URL("http://93.184.215.14/"), { refuse });
    refusePrivate(new URL("http://example.com/"), { refuse });
  });
});
