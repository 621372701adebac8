import assert from "node:assert/strict";
import { describe, it } from "node:test";

import type { ApiCall } from "../../base/capability/api-route.ts";
import { ANYONE, OWNER, type Principal } from "../../base/principal.ts";
import type { PersonLogin } from "../../upstream/open/server-logins.ts";
import { loginRoutes } from "./login-routes.ts";

const ADA: Principal = { id: "token a1", person: "token ada", name: "ada", scopes: ["dashboard"] };
const BOB: Principal = { id: "oauth https://login.example bob", scopes: ["dashboard"] };

/** What of a principal's logins is seen and ended. */
function rig() {
  let kept: PersonLogin[] = [
    { key: "1", person: "token ada", name: "mail", issuer: "https://mail.example" },
    { key: "2", person: BOB.id, name: "mail", issuer: "https://mail.example", ended: "left" },
    { key: "3", person: "", name: "work", issuer: "https://work.example", expiresAt: 1 },
  ];
  const ended: string[] = [];
  const routes = loginRoutes({
    listOf: async () => kept,
    end: async (logins, by) => {
      kept = kept.filter((each) => !logins.includes(each));
      ended.push(...logins.map(({ key }) => `${key} by ${by}`));
      return logins.some(({ key }) => key === "2") ? ["https://mail.example: it is away"] : [];
    },
  });
  const ask = async (principal: Principal, method: "GET" | "POST", id = "") => {
    const found = routes.find((route) => route.method === method);
    return (await found?.handle({ principal, id } as ApiCall)) as Record<string, unknown>;
  };
  return { ask, ended };
}

describe("the logins of people on the dashboard", () => {
  it("are seen by whose they are, and all of them by the owner", async () => {
    const { ask } = rig();
    const mail = { server: "mail", issuer: "https://mail.example" };
    const hers = { id: "1", person: "ada", state: "logged in", ...mail };
    const his = { id: "2", person: BOB.id, state: "ended", ...mail };
    const own = { server: "work", issuer: "https://work.example", state: "expired" };
    assert.deepEqual(await ask(ADA, "GET"), { logins: [hers] });
    assert.deepEqual(await ask(BOB, "GET"), { logins: [his] });
    assert.deepEqual(await ask(ANYONE, "GET"), { logins: [] });
    const all = { logins: [hers, his, { id: "3", person: "owner", ...own }] };
    assert.deepEqual(await ask(OWNER, "GET"), all);
  });

  it("are ended by whose they are, and by the owner", async () => {
    const { ask, ended } = rig();
    for (const stranger of [BOB, ANYONE, { ...ADA, person: "token adam" }]) {
      await assert.rejects(ask(stranger, "POST", "1"), { code: "not-found" });
    }
    assert.deepEqual(ended, []);
    assert.deepEqual(await ask(ADA, "POST", "1"), { ok: true, problems: [] });
    await assert.rejects(ask(ADA, "POST", "1"), /You have no such login/);
    const problems = ["https://mail.example: it is away"];
    assert.deepEqual(await ask(OWNER, "POST", "2"), { ok: true, problems });
    assert.deepEqual(ended, ["1 by token a1", "2 by owner"]);
  });
});
