import assert from "node:assert/strict";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { WebSocket } from "ws";

import { readAudit } from "../support/read-audit.ts";
import { BOTH_TYPES, EventReader } from "../support/mcp-http-server.ts";
import {
  bearer,
  type GuardedGateway,
  GuardedHome,
  ownAddress,
  PING,
} from "../support/guarded-gateway.ts";
import { covers } from "../support/requirement.ts";

const NOTES = join(import.meta.dirname, "../support/notes-server.mjs");
const OPEN = ["--host", "0.0.0.0"];
const ALL = ["tools", "sessions", "programs", "review", "dashboard"].flatMap((scope) => [
  "--scope",
  scope,
]);

describe("trunkline token", { timeout: 600_000 }, () => {
  it("prints a token once, and nothing else on stdout", async () => {
    using home = new GuardedHome();
    const made = await home.run("token", "create", "laptop", "--expires", "30d");
    assert.equal(made.code, 0);
    assert.match(made.out, /^tlk_[\w-]{43}$/);
    assert.match(made.err, /'laptop'.*valid until.*not shown again/);
    assert.match(made.err, /It allows: tools\./);
    const file = readFileSync(join(home.data, "access-tokens.json"), "utf8");
    const listed = await home.run("token", "list");
    const asJson = await home.run("token", "list", "--json");
    for (const shown of [file, listed.out, asJson.out]) {
      assert.match(shown, /laptop/);
      assert.ok(!shown.includes(made.out.slice(4)), shown);
    }
    const { tokens } = JSON.parse(asJson.out) as { tokens: Record<string, unknown>[] };
    assert.equal(tokens.length, 1);
    assert.equal(tokens[0]?.isExpired, false);
    assert.ok(!("sha256" in (tokens[0] ?? {})));
    const other = await home.run("token", "create", "--json");
    const { name, token, id } = JSON.parse(other.out) as Record<string, string>;
    assert.equal(name, "token-1");
    assert.match(token ?? "", /^tlk_/);
    const revoked = await home.run("token", "revoke", id ?? "");
    assert.match(revoked.out, /Revoked 'token-1'/);
  });

  it("reports what is wrong, and what to do", async () => {
    using home = new GuardedHome();
    await home.createToken("laptop");
    const cases: [string[], number, RegExp][] = [
      [["create", "laptop"], 1, /There is a token 'laptop' already.*token revoke laptop/],
      [["create", "a b"], 2, /Cannot name a token 'a b'/],
      [["create", "x", "--expires", "soon"], 2, /'soon'.*such as 30d/],
      [["create", "x", "--expires", "0d"], 2, /'0d'/],
      [["create", "x", "--scope", "root"], 2, /'root'.*tools.*sessions.*programs/s],
      [["revoke", "desktop"], 1, /Cannot revoke 'desktop'.*Tokens: laptop/],
      [["revoke"], 2, /needs NAME/],
    ];
    for (const [args, code, says] of cases) {
      const ended = await home.runInProcess("token", ...args);
      assert.equal(ended.code, code, ended.err);
      assert.match(ended.err, says);
      assert.equal(ended.out, "");
    }
  });
});

describe("trunkline serve on an address that others can reach", { timeout: 600_000 }, () => {
  /** For all tests but those that configure their own, or send more wrong tokens than it takes. */
  let home: GuardedHome;
  let gateway: GuardedGateway;
  before(async () => {
    home = new GuardedHome();
    gateway = await home.serve(...OPEN);
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("requires a token for everything except /healthz and /readyz", async () => {
    const token = await home.createToken("first", ...ALL);
    await gateway.program.says(/tokens travel in clear text/);
    const health = await gateway.get("/healthz");
    assert.deepEqual([health.status, health.body], [200, `{"status":"ok"}`]);
    const ready = await gateway.get("/readyz");
    assert.deepEqual([ready.status, ready.body], [200, `{"status":"ready"}`]);
    for (const path of ["/", "/metrics", "/mcp", "/sse", "/messages", "/acp", "/nope", "//mcp"]) {
      for (const method of ["GET", "POST", "DELETE", "PUT", "OPTIONS"]) {
        const refused = await gateway.send(method, path);
        assert.equal(refused.status, 401, `${method} ${path}`);
        assert.equal(refused.headers["www-authenticate"], `Bearer realm="trunkline"`);
      }
    }
    const known = bearer(token);
    assert.equal((await gateway.get("/", known)).status, 200);
    assert.equal((await gateway.get("/metrics", known)).status, 200);
    assert.equal((await gateway.get("/nope", known)).status, 404);
    const session = await gateway.begin(known);
    assert.equal((await gateway.post(PING, { ...known, ...session })).status, 200);
    assert.equal((await gateway.post(PING, session)).status, 401);
  });

  const address = ownAddress();
  const skip = address === undefined && "needs a network interface besides loopback";
  it("does so on a single address too", { skip }, async () => {
    using home = new GuardedHome();
    const token = await home.createToken("laptop", ...ALL);
    await using gateway = await home.serve("--host", address ?? "");
    const send = (headers: object) => gateway.send("GET", "/", { ...headers }, undefined, address);
    assert.equal((await send({})).status, 401);
    assert.equal((await send(bearer(token))).status, 200);
    assert.equal((await send({ ...bearer(token), host: "evil.example" })).status, 403);
  });

  it("accepts a token from one Authorization header, and from nowhere else", async () => {
    covers("mcp.authorization.header-only");
    const token = await home.createToken("header", ...ALL);
    for (const query of [
      `access_token=${token}`,
      `token=${token}`,
      `authorization=Bearer%20${token}`,
    ]) {
      assert.equal((await gateway.get(`/metrics?${query}`)).status, 401, query);
    }
    const basic = Buffer.from(`x:${token}`).toString("base64");
    for (const authorization of [
      ...[token, `Basic ${basic}`, `Token ${token}`, `Bearer${token}`, `Bearer ${token} x`],
      ...[
        `Bearer  `,
        `Bearer ${token},${token}`,
        `Bearer ${token}x`,
        `Bearer ${token.slice(0, -1)}`,
      ],
      ...[
        `Bearer ${token.toUpperCase()}`,
        `Bearer tlk_`,
        `Bearer null`,
        `Bearer ${"x".repeat(8000)}`,
      ],
    ]) {
      const { status } = await gateway.get("/metrics", { authorization });
      assert.equal(status, 401, authorization);
    }
    const twice = ["Authorization", "Bearer x", "authorization", `Bearer ${token}`];
    assert.equal(await rawStatus(gateway.port, twice), 400);
    assert.equal(await rawStatus(gateway.port, ["Authorization", `Bearer ${token}`]), 200);
    assert.equal(await rawStatus(gateway.port, ["Cookie", `token=${token}`]), 401);
    assert.equal(
      await rawStatus(gateway.port, ["Authorization", `Bearer ${"x".repeat(20_000)}`]),
      431,
    );
  });

  it("keeps a session for the token that began it", async () => {
    const [mine, theirs] = [await home.createToken("mine"), await home.createToken("theirs")];
    const session = await gateway.begin(bearer(mine));
    for (const method of ["POST", "GET", "DELETE"]) {
      const headers = { ...BOTH_TYPES, ...session, ...bearer(theirs) };
      const body = method === "POST" ? PING : undefined;
      assert.equal((await gateway.send(method, "/mcp", headers, body)).status, 404, method);
    }
    assert.equal((await gateway.post(PING, { ...bearer(mine), ...session })).status, 200);
    const accept = { accept: "text/event-stream" };
    const url = `http://${gateway.authority}/sse`;
    const events = new EventReader(await fetch(url, { headers: { ...accept, ...bearer(mine) } }));
    const endpoint = (await events.next())?.data ?? "";
    assert.equal((await gateway.post(PING, bearer(theirs), endpoint)).status, 404);
    assert.equal((await gateway.post(PING, {}, endpoint)).status, 401);
    assert.equal((await gateway.post(PING, bearer(mine), endpoint)).status, 202);
    await events.cancel();
  });

  it("refuses a revoked token at once, and closes what it has open", async () => {
    const token = await home.createToken("laptop", ...ALL);
    const other = bearer(await home.createToken("other", ...ALL));
    const session = await gateway.begin(bearer(token));
    const headers = { ...bearer(token), ...session, accept: "text/event-stream" };
    const stream = await fetch(`http://${gateway.authority}/mcp`, { headers });
    assert.equal(stream.status, 200);
    using sockets = new DisposableStack();
    const connectWith = async (headers: Record<string, string>): Promise<WebSocket> => {
      const socket = sockets.adopt(new WebSocket(gateway.acp, { headers }), (it) => it.terminate());
      await once(socket, "open");
      return socket;
    };
    const [socket, kept] = [await connectWith(bearer(token)), await connectWith(other)];
    // Neither rejects: this test may fail before it waits for them.
    const closed = new Promise((resolve) => socket.once("close", resolve));
    const streamed = stream.text().then(
      () => "whole",
      () => "cut off",
    );
    await home.runInProcess("token", "revoke", "laptop");
    const refused = await gateway.post(PING, { ...bearer(token), ...session });
    assert.equal(refused.status, 401);
    assert.match(refused.headers["www-authenticate"] ?? "", /error="invalid_token"/);
    await closed;
    assert.equal(await streamed, "cut off");
    assert.equal(kept.readyState, WebSocket.OPEN);
    kept.close();
    await once(kept, "close");
    // A token of the same name is another one.
    const again = bearer(await home.createToken("laptop", ...ALL));
    assert.equal((await gateway.post(PING, { ...again, ...session })).status, 404);
  });

  it("opens no WebSocket without a token", async () => {
    const token = await home.createToken("socket", ...ALL);
    for (const headers of [{}, bearer("tlk_wrong")]) {
      const upgrade = new WebSocket(gateway.acp, { headers });
      assert.match(String(await once(upgrade, "error")), /401/);
    }
    const inQuery = new WebSocket(`${gateway.acp}?access_token=${token}`);
    assert.match(String(await once(inQuery, "error")), /401/);
    // Clients of the remote run server guide send the token alone.
    for (const headers of [bearer(token), { authorization: token }]) {
      const socket = new WebSocket(gateway.acp, { headers });
      await once(socket, "open");
      socket.close();
      await once(socket, "close");
    }
  });

  it("refuses further wrong tokens from one address, not valid ones", async () => {
    using home = new GuardedHome();
    const token = await home.createToken("laptop", ...ALL);
    await using gateway = await home.serve(...OPEN);
    const wrong = bearer(`tlk_${"x".repeat(43)}`);
    for (let times = 0; times < 20; times++) {
      assert.equal((await gateway.get("/metrics", wrong)).status, 401);
    }
    const refused = await gateway.get("/metrics", wrong);
    assert.equal(refused.status, 429);
    assert.ok(Number(refused.headers["retry-after"]) > 0);
    assert.equal((await gateway.post(PING, wrong)).status, 429);
    assert.equal((await gateway.get("/metrics", bearer(token))).status, 200);
    assert.equal((await gateway.get("/healthz", wrong)).status, 200);
  });

  it("records calls under the name of the token, and the policy can match it", async () => {
    const notes = { command: process.execPath, args: [NOTES] };
    const rules = [{ tool: "fail", caller: "guest", decision: "deny" }];
    using home = new GuardedHome({ mcpServers: { notes }, policy: { tools: { rules } } });
    const guest = bearer(await home.createToken("guest"));
    const owner = bearer(await home.createToken("owner"));
    {
      await using gateway = await home.serve(...OPEN);
      for (const known of [guest, owner]) {
        const session = await gateway.begin(known);
        await gateway.post({ ...PING, id: 1, method: "tools/list" }, { ...known, ...session });
        const params = { name: "fail", arguments: {} };
        const call = { jsonrpc: "2.0", id: 2, method: "tools/call", params };
        assert.equal((await gateway.post(call, { ...known, ...session })).status, 200);
      }
    }
    const entries = await Array.fromAsync(readAudit(home.data));
    assert.deepEqual(
      entries.map(({ caller, tool, outcome }) => ({ caller, tool, outcome })),
      [
        { caller: "guest", tool: "fail", outcome: "refused" },
        { caller: "owner", tool: "fail", outcome: "error" },
      ],
    );
    const { out } = await home.runInProcess("token", "list", "--json");
    const { tokens } = JSON.parse(out) as { tokens: { lastUsed?: string }[] };
    assert.ok(tokens.every(({ lastUsed }) => lastUsed !== undefined));
  });
});

/** The status of a request whose headers are sent as they are. */
async function rawStatus(port: string, headers: readonly string[]): Promise<number> {
  const socket = connect(Number(port), "127.0.0.1");
  const lines = [`GET /metrics HTTP/1.1`, `Host: 127.0.0.1`, `Connection: close`];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  socket.end(`${lines.join("\r\n")}\r\n\r\n`);
  const answer = await text(socket);
  return Number(answer.split(" ")[1]);
}
