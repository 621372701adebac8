import { tmpdir } from "node:os";
import { after, before, describe, it } from "node:test";

import { defaultConfig } from "../../src/gateway/config/config.ts";
import { localInForce } from "../../src/gateway/session/local-in-force.ts";
import { NODE_IS_HIDDEN } from "../support/node-in-sandbox.ts";
import { ATTACKS, SECRET, VARIABLES } from "./attacks.ts";
import { type Inside, localSession, remoteRun } from "./inside.ts";

const { state, says, next } = await localInForce(defaultConfig(tmpdir()));
const skip = (state !== "ok" && `${says}. ${next}`) || NODE_IS_HIDDEN;
const secrets = Object.fromEntries(VARIABLES.map((name) => [name, `/x/${SECRET}`]));

for (const [where, open] of [
  ["a command of a local session", localSession],
  ["the agent of a remote run", remoteRun],
] as const) {
  describe(`${where} gets nothing when it`, { skip, timeout: 300_000 }, () => {
    const own = { ...process.env };
    let shared: Inside;

    before(async () => {
      Object.assign(process.env, secrets);
      shared = await open(secrets);
    });

    after(async () => {
      for (const name of VARIABLES) delete process.env[name];
      Object.assign(process.env, own);
      await shared[Symbol.asyncDispose]();
    });

    for (const { name, isLasting, run } of ATTACKS) {
      it(name, async () => {
        if (isLasting !== true) return await run(shared);
        await using inside = await open(secrets);
        return await run(inside);
      });
    }
  });
}
