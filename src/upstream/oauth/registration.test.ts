import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import type { OAuthSettings } from "../settings.ts";
import type { OAuthClient } from "./login.ts";
import { OAuthHttp } from "./oauth-http.ts";
import { clientFor } from "./registration.ts";

async function client(issuer: SmallIssuer, settings: OAuthSettings): Promise<OAuthClient> {
  const http = new OAuthHttp({ server: new URL(issuer.url), trustsIssuer: false });
  return clientFor(issuer.metadata as never, settings, "http://127.0.0.1:1/callback", http);
}

describe("clientFor()", () => {
  it("prefers a configured client, then a document, then registration", async () => {
    await using issuer = await SmallIssuer.open();
    const clientMetadataUrl = "https://example.com/client.json";
    issuer.metadata.client_id_metadata_document_supported = true;
    const own = { clientId: "own", issuer: issuer.url, clientMetadataUrl };
    assert.deepEqual(await client(issuer, own), { id: "own", method: "none" });
    assert.deepEqual(await client(issuer, { clientMetadataUrl }), {
      id: clientMetadataUrl,
      method: "none",
    });
    issuer.metadata.client_id_metadata_document_supported = false;
    const registered = await client(issuer, { clientMetadataUrl });
    assert.deepEqual(registered, { id: "client-1", method: "none" });
  });

  it("sends a secret as the issuer wants it", async () => {
    await using issuer = await SmallIssuer.open();
    const own = { clientId: "own", clientSecret: "s", issuer: issuer.url };
    assert.equal((await client(issuer, own)).method, "client_secret_basic");
    issuer.metadata.token_endpoint_auth_methods_supported = ["client_secret_post"];
    assert.equal((await client(issuer, own)).method, "client_secret_post");
    await client(issuer, {});
    assert.equal(issuer.registered[0]?.token_endpoint_auth_method, "client_secret_post");
  });

  it("gives a configured client to no issuer that only the server has named", async () => {
    await using issuer = await SmallIssuer.open();
    const asked = client(issuer, { clientId: "own", clientSecret: "s" });
    const next = new RegExp(
      `Set 'oauth\\.issuer' of the server, to ${issuer.url} if it is that one`,
    );
    await assert.rejects(asked, next);
  });

  it("says what to configure where nobody can be registered", async () => {
    await using issuer = await SmallIssuer.open();
    delete issuer.metadata.registration_endpoint;
    await assert.rejects(client(issuer, {}), /no dynamic registration: .* set 'oauth\.clientId'/);
    issuer.metadata.registration_endpoint = `${issuer.url}/nothing`;
    await assert.rejects(client(issuer, {}), /does not register Trunkline: /);
  });
});
