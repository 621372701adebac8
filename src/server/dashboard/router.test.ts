import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { until } from "../../../test/support/until.ts";
import { TrunklineError } from "../../base/errors.ts";
import { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import { type ApiRoute, numberIn, textIn } from "../../base/capability/api-route.ts";
import { router } from "./router.ts";

const ROUTES: ApiRoute[] = [
  {
    method: "GET",
    path: "/api/echo/:id/to/:part",
    needs: "nothing",
    handle: async ({ id, part }) => ({ id, part }),
  },
  { method: "POST", path: "/api/echo", needs: "admin", handle: async ({ body }) => ({ body }) },
  {
    method: "GET",
    path: "/api/fail",
    needs: "nothing",
    handle: async ({ query }) => {
      if (query.has("bug")) throw new Error("a detail of ours");
      const code = (query.get("code") ?? "usage") as "usage";
      throw new TrunklineError(code, "It is so. token=ghp_plantedplantedplantedplanted1234");
    },
  },
];

async function ask(
  path: string,
  { method = "GET", headers = {}, body }: { method?: string; headers?: object; body?: string } = {},
  principal: Principal = { id: "" },
): Promise<{ status: number; body: unknown; allow: string | null }> {
  const logged: string[] = [];
  const handle = router(ROUTES, new Log("error", (line) => logged.push(line)));
  const server = createServer((request, response) => {
    handle(request.url?.split("?")[0] ?? "", request, response, principal);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { ...headers },
      ...(body === undefined ? {} : { body }),
    });
    const { status } = answer;
    return { status, body: await answer.json(), allow: answer.headers.get("allow") };
  } finally {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  }
}

const JSON_TYPE = { "content-type": "application/json; charset=utf-8" };

describe("the router of the API", () => {
  it("finds a route by its path and method", async () => {
    const { body } = await ask("/api/echo/a%2Fb/to/c");
    assert.deepEqual(body, { id: "a/b", part: "c" });
    assert.equal((await ask("/api/nothing")).status, 404);
    assert.equal((await ask("/api/echo/%E0%A4%A/to/c")).status, 404);
    const wrong = await ask("/api/echo");
    assert.deepEqual([wrong.status, wrong.allow], [405, "POST"]);
  });

  it("takes a body only as a JSON object, of a bounded size", async () => {
    const post = { method: "POST", body: '{"a":1}' };
    assert.deepEqual((await ask("/api/echo", { ...post, headers: JSON_TYPE })).body, {
      body: { a: 1 },
    });
    const form = { "content-type": "application/x-www-form-urlencoded" };
    assert.equal((await ask("/api/echo", { ...post, headers: form })).status, 415);
    assert.equal(
      (await ask("/api/echo", { ...post, headers: { "content-type": "text/plain" } })).status,
      415,
    );
    for (const text of ["[1]", "nonsense", "null"]) {
      const { status } = await ask("/api/echo", { ...post, headers: JSON_TYPE, body: text });
      assert.equal(status, 400, text);
    }
    const large = `{"a":"${"x".repeat(1024 * 1024)}"}`;
    const { status, body } = await ask("/api/echo", { ...post, headers: JSON_TYPE, body: large });
    assert.deepEqual(
      [status, body],
      [413, { error: "Send a JSON object of at most 1048576 bytes." }],
    );
    for (const [values, says] of [
      [`[${"[],".repeat(300_000)}0]`, /made of too many values/],
      ["[".repeat(300) + "]".repeat(300) + " ".repeat(9_000), /nested deeper/],
    ] as const) {
      const costly = { ...post, headers: JSON_TYPE, body: `{"a":${values}}` };
      const { status, body } = await ask("/api/echo", costly);
      assert.equal(status, 400);
      assert.match(JSON.stringify(body), says);
    }
  });

  it("works on so many requests of one principal at once, and delays no other", async () => {
    const gate = Promise.withResolvers<object>();
    let began = 0;
    const handle = async (): Promise<object> => {
      began++;
      return await gate.promise;
    };
    const slow: ApiRoute = { method: "GET", path: "/api/slow", needs: "nothing", handle };
    const answer = router([slow], new Log("error", () => {}));
    const server = createServer((request, response) => {
      answer("/api/slow", request, response, { id: String(request.headers.who) });
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    const statusFor = async (who: string): Promise<number> => {
      const { status, body } = await fetch(`http://127.0.0.1:${port}/`, { headers: { who } });
      await body?.cancel();
      return status;
    };
    const all = Array.from({ length: 129 }, () => statusFor("one"));
    assert.equal(await Promise.race(all), 429);
    assert.equal(began, 64);
    const other = statusFor("two");
    await until(() => began === 65);
    gate.resolve({});
    assert.equal(await other, 200);
    const statuses = await Promise.all(all);
    assert.deepEqual(
      statuses.filter((status) => status !== 200),
      [429],
    );
    server.closeAllConnections();
    server.close();
  });

  it("needs the scope of the route", async () => {
    const guest: Principal = { id: "token 1", name: "guest", scopes: ["dashboard"] };
    const { status, body } = await ask(
      "/api/echo",
      { method: "POST", headers: JSON_TYPE, body: "{}" },
      guest,
    );
    assert.equal(status, 403);
    assert.match(JSON.stringify(body), /needs the scope 'admin', which 'guest' lacks/);
  });

  it("answers a failure in words, without secrets, and a bug of ours without its details", async () => {
    const known = await ask("/api/fail?code=conflict");
    assert.deepEqual(known, { status: 409, body: { error: "It is so. token=•••" }, allow: null });
    const bug = await ask("/api/fail?bug");
    assert.equal(bug.status, 500);
    assert.doesNotMatch(JSON.stringify(bug.body), /detail/);
  });

  it("reads numbers and texts, and says what is wrong with them", () => {
    const query = new URLSearchParams("a=5&b=-1&c=x");
    assert.equal(numberIn(query, "a", { usual: 1 }), 5);
    assert.equal(numberIn(query, "none", { usual: 1 }), 1);
    for (const name of ["b", "c"]) {
      assert.throws(() => numberIn(query, name, { usual: 1 }), /has to be a whole number/);
    }
    assert.throws(() => numberIn(query, "a", { most: 4, usual: 1 }), /from 0 to 4/);
    assert.throws(() => textIn({ text: " " }, "text"), /'text' is missing/);
  });
});
