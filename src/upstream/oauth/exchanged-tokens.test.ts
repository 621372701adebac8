import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import type { AddressSettings } from "../settings.ts";
import {
  ExchangedTokens,
  gatewaySubject,
  plainExchange,
  type SubjectToken,
} from "./exchanged-tokens.ts";

const HOUR = 60 * 60_000;

function settings(issuer: SmallIssuer): AddressSettings {
  const oauth = { issuer: issuer.url, clientId: "gateway", clientSecret: "s", scopes: ["read"] };
  return { url: "http://127.0.0.1:1/mcp", login: "passed on", oauth };
}

function tokensAt(issuer: SmallIssuer, find: () => SubjectToken | undefined): ExchangedTokens {
  return new ExchangedTokens(gatewaySubject(find), plainExchange(settings(issuer)));
}

describe("ExchangedTokens", () => {
  it("exchanges the person's token once for all calls, and again after a refusal", async () => {
    await using issuer = await SmallIssuer.open();
    const subject: SubjectToken = { token: "hers", until: Date.now() + HOUR };
    const tokens = tokensAt(issuer, () => subject);
    const [first, second] = await Promise.all([tokens.token(), tokens.token()]);
    assert.equal(first, second);
    assert.equal(await tokens.token(), first);
    const [form] = issuer.grants;
    assert.deepEqual(Object.fromEntries(form ?? []), {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: "hers",
      subject_token_type: "urn:ietf:params:oauth:token-type:access_token",
      requested_token_type: "urn:ietf:params:oauth:token-type:access_token",
      resource: "http://127.0.0.1:1/mcp",
      scope: "read",
    });
    assert.equal(issuer.grants.length, 1);
    const refused = { status: 401, challenge: undefined, token: first } as const;
    const after = await tokens.refused(refused);
    assert.ok("token" in after && after.token !== first);
    assert.equal(issuer.grants.length, 2);
    assert.match(String(Object.values(await tokens.refused({ ...refused, status: 403 }))), /403/);
  });

  it("needs a token of the person that is good now, and says what is wrong", async () => {
    await using issuer = await SmallIssuer.open();
    for (const subject of [undefined, { token: "old", until: Date.now() - 1 }]) {
      const tokens = tokensAt(issuer, () => subject);
      await assert.rejects(
        async () => tokens.token(),
        /without a token of 'serve.oauth.authorizationServers'.*over stdio/,
      );
    }
    assert.deepEqual(issuer.requests, []);
    const wrong = tokensAt(issuer, () => {
      return { token: "wrong", until: Date.now() + HOUR };
    });
    await assert.rejects(async () => wrong.token(), /did not exchange your token: invalid_grant/);
  });

  it("is not good for longer than the person's own token", async () => {
    await using issuer = await SmallIssuer.open();
    let subject = { token: "hers", until: Date.now() + HOUR };
    const tokens = tokensAt(issuer, () => subject);
    const first = await tokens.token();
    subject = { token: "hers", until: Date.now() - 1 };
    await assert.rejects(tokens.token(), /you have come without a token/);
    subject = { token: "her next", until: Date.now() + HOUR };
    assert.notEqual(await tokens.token(), first);
    assert.equal(issuer.grants.at(-1)?.get("subject_token"), "her next");
  });
});
