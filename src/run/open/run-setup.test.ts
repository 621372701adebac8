import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { SecretStore } from "../../store/secret/secret-store.ts";
import { defaultConfig } from "../../config/config.ts";
import { runSetup } from "./open-runs.ts";

const { remote } = defaultConfig("/data");

describe("runSetup()", () => {
  it("finds secrets in the environment, then in the keychain", async () => {
    const keychain = {
      get: async ({ account }) =>
        account === "A" || account === "B" ? `kept ${account}` : undefined,
    } as SecretStore;
    const open = async (): Promise<SecretStore> => keychain;
    const options = { parts: undefined, env: { A: "set A" }, open };
    const { findSecret } = runSetup(remote, options);
    assert.deepEqual(await Promise.all(["A", "B", "C"].map(findSecret)), [
      "set A",
      "kept B",
      undefined,
    ]);
  });
});
