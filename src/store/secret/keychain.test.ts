import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Keychain, type Keyring } from "./keychain.ts";

function keyring(
  entry: Partial<InstanceType<Keyring["AsyncEntry"]>>,
  made: unknown[] = [],
): Keyring {
  return {
    AsyncEntry: function make(...args: unknown[]) {
      made.push(args);
      return entry;
    } as unknown as Keyring["AsyncEntry"],
  };
}

describe("Keychain", () => {
  it("requests the Secret Service explicitly, which is persistent", async () => {
    const made: unknown[] = [];
    await Keychain.open(async () => keyring({ getPassword: async () => null }, made));
    assert.deepEqual((made as unknown[][])[0]?.[2], { linux: { store: "secret-service" } });
  });

  it("gives the reason if there is none", async () => {
    const broken = keyring({
      getPassword: async () => {
        throw new Error("no bus\nand more");
      },
    });
    const says = { code: "unavailable", message: "Cannot read the keychain: no bus" };
    await assert.rejects(
      Keychain.open(async () => broken),
      says,
    );
    await assert.rejects(
      Keychain.open(async () => {
        throw new Error("Cannot find package");
      }),
      { code: "unavailable", message: /Cannot find package/ },
    );
  });

  it("stops waiting for one that waits for a person", async () => {
    const locked = keyring({ getPassword: () => new Promise<never>(() => {}) });
    await assert.rejects(
      Keychain.open(async () => locked, 10),
      { code: "unavailable", message: /did not answer within 10 ms/ },
    );
  });
});
