import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import type { Principal } from "../../base/principal.ts";
import { SharedBase } from "../../fleet/replication/shared-base.ts";
import { AccessTokens } from "../../store/access/access-tokens.ts";
import type { TokenRow } from "../dashboard/api.ts";
import type { ApiCall } from "../../base/capability/api-route.ts";
import { tokenRoutes } from "./token-routes.ts";

const OWNER: Principal = { id: "" };
type Made = { readonly token: string; readonly row: TokenRow };

async function create(tokens: AccessTokens, body: object, principal = OWNER): Promise<unknown> {
  const route = tokenRoutes(tokens).find(
    ({ method, path }) => method === "POST" && path === "/api/tokens",
  );
  return route?.handle({ principal, body: { ...body } } as ApiCall);
}

describe("tokens that are made on the dashboard", () => {
  it("are limited as asked, and their secret is in no list", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const asked = { name: "ci", scopes: ["sessions"], days: 1, agents: ["a*"], folders: ["/work"] };
    const { token } = (await create(tokens, asked)) as { token: string };
    const found = tokens.use(token);
    assert.deepEqual(found?.limits, { agents: ["a*"], folders: ["/work"] });
    assert.deepEqual(found?.scopes, ["sessions"]);
    const [list] = tokenRoutes(tokens);
    const text = JSON.stringify(await list?.handle({ principal: OWNER } as ApiCall));
    assert.match(text, /"name":"ci"/);
    assert.equal(text.includes(token) || text.includes(found?.sha256 ?? ""), false);
  });

  it("give nobody more than who makes them has", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const { kept } = await tokens.create("admin", { scopes: ["admin", "dashboard"] });
    const admin: Principal = { id: `token ${kept.id}`, name: "admin", scopes: kept.scopes };
    await assert.rejects(create(tokens, { name: "a", scopes: ["programs"] }, admin), /'programs'/);
    const made = (await create(tokens, { name: "a", scopes: ["admin"] }, admin)) as Made;
    assert.equal(made.row.maker, kept.id);
    assert.equal((await tokens.revoke("admin")).id, kept.id);
    assert.equal(tokens.use(made.token), undefined);
    await assert.rejects(create(tokens, { name: "b", scopes: ["admin"] }, admin), /not valid/);
    // Nothing here would end it, were its maker to be let in no more.
    const other: Principal = { ...admin, id: "oauth https://login.example.com ann" };
    await assert.rejects(create(tokens, { name: "b", scopes: ["admin"] }, other), /Only the owner/);
    assert.deepEqual(tokens.list(), []);
  });

  it("are revoked, and it is said whether the other gateways of a fleet know", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const revoke = tokenRoutes(tokens).find(({ path }) => path.endsWith("/revoke"));
    const revoked = async (name: string): Promise<unknown> => {
      const { kept } = await tokens.create(name, { scopes: ["tools"] });
      if (name !== "alone") {
        using base = await SharedBase.open(folder.path, "tokens");
        const entry = { seq: 1, local: "known to all" };
        await base.note(new Map([["token", new Map([[kept.id, entry]])]]));
      }
      return revoke?.handle({ principal: OWNER, id: kept.id } as ApiCall);
    };
    assert.deepEqual(await revoked("alone"), { ok: true, isShared: true });
    assert.deepEqual(await revoked("shared"), { ok: true, isShared: false });
    assert.deepEqual(tokens.list(), []);
  });

  it("are refused with words where something is wrong", async () => {
    await using folder = await SampleFolder.create();
    await using tokens = new AccessTokens(folder.path);
    const good = { name: "a", scopes: ["tools"] };
    const wrong: [object, RegExp][] = [
      [{ ...good, scopes: ["everything"] }, /'scopes\[0\]' must be/],
      [{ ...good, scopes: [] }, /'scopes' must/],
      [{ ...good, days: 0 }, /'days' must be/],
      [{ ...good, folders: ["work"] }, /absolute path/],
      [{ ...good, tools: "all" }, /'tools' must be a/],
      [{ ...good, name: "" }, /'name' must be a text with words/],
    ];
    for (const [body, words] of wrong) await assert.rejects(create(tokens, body), words);
  });
});
