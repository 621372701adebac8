import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import { mustNamePrincipal, type PrincipalGreeting, serveGreeted } from "./greeting.ts";

async function servedFor(greeting: string): Promise<Principal[]> {
  const [near, far] = duplexPair();
  const seen: Principal[] = [];
  far.resume();
  const served = serveGreeted<PrincipalGreeting, object>(near, {
    limits: {},
    log: new Log("error", () => {}),
    welcome: mustNamePrincipal,
    serve: async (_, { principal }) => {
      seen.push(principal);
    },
  });
  far.write(`${greeting}\n`);
  await served;
  far.destroy();
  return seen;
}

describe("serveGreeted()", () => {
  it("serves the principal that the other process names, with what that may do", async () => {
    const ann: Principal = { id: "ann", scopes: ["tools"] };
    assert.deepEqual(await servedFor(JSON.stringify({ principal: ann })), [ann]);
  });

  it("takes nobody for the owner who names no principal", async () => {
    const odd = ["null", "7", "hello", '{"principal":null}', '{"principal":{}}'];
    for (const greeting of ["{}", ...odd])
      assert.deepEqual(await servedFor(greeting), [], greeting);
  });
});
