import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";

import type { Json } from "../support/acp-app.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { CONFIG, folderIn, begin, said, pageOf, SECRET } from "../support/dashboard-home.ts";
import { DashboardPage } from "../support/dashboard-page.ts";
import {
  type Answered,
  bearer,
  type GuardedGateway,
  GuardedHome,
} from "../support/guarded-gateway.ts";

/** Servers that do not work, with secrets wherever one can be. */
const SERVERS = {
  remote: {
    url: `http://user:${SECRET}@127.0.0.1:9/mcp`,
    headers: { Authorization: `Bearer ${SECRET}` },
  },
  local: {
    command: process.execPath,
    args: ["-e", `console.error("${SECRET}")`],
    env: { API_TOKEN: "planted-in-environment" },
  },
};

describe("access to the dashboard's API", { timeout: 600_000 }, () => {
  let home: GuardedHome;
  let gateway: GuardedGateway;
  before(async () => {
    home = new GuardedHome({ ...CONFIG, mcpServers: SERVERS });
    gateway = await home.serve("--set", "log.level=warn");
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  it("shows a limited token only what is its own, and lets it change nothing else", async () => {
    const own = await home.createToken("own", "--scope", "dashboard", "--scope", "sessions");
    const looks = await home.createToken("looks", "--scope", "dashboard");
    using page = pageOf(gateway);
    using limited = new DashboardPage(gateway.ready.url, bearer(own));
    using reader = new DashboardPage(gateway.ready.url, bearer(looks));
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    using theirs = await AcpSocket.connect(gateway.acp, bearer(own));
    const live = await limited.events();
    const ofOwner = await begin(editor, folderIn(home));
    const ofToken = await begin(theirs, folderIn(home));
    await editor.ask("session/prompt", { sessionId: ofOwner, prompt: said("say private") });
    await theirs.ask("session/prompt", { sessionId: ofToken, prompt: said("say mine") });

    await live.find("session", ({ row }) => row?.ended === "end_turn");
    const seen = new Set(live.events.flatMap(({ data }) => ("id" in data ? [data.id] : [])));
    assert.deepEqual([...seen], [ofToken]);
    const { rows } = await limited.get("/api/sessions");
    assert.deepEqual(
      rows.map(({ id }: Json) => id),
      [ofToken],
    );
    for (const path of ["", "/events", "/files", "/why?file=a", "/export"]) {
      const { status } = await limited.send("GET", `/api/sessions/${ofOwner}${path}`);
      assert.equal(status, 404, path);
    }
    await assert.rejects(limited.events(`?session=${ofOwner}`), /There is no session/);
    assert.equal(
      (await limited.post(`/api/sessions/${ofOwner}/prompt`, { text: "x" })).status,
      404,
    );
    const { program } = await page.get("/api/me");
    assert.match(
      program,
      /trunkline(?:\.js)? --set=log\.level=warn$/,
      "what a person can type here",
    );
    assert.equal((await limited.get("/api/me")).program, undefined);
    const { rows: all } = await page.get("/api/sessions");
    assert.equal(all.find(({ id }: Json) => id === ofToken).owner, "own");
    for (const path of [
      "/api/servers",
      "/api/approvals",
      "/api/calls",
      "/api/identities",
      "/api/tokens",
    ]) {
      const { status, body } = await limited.send("GET", path);
      assert.equal(status, 403, path);
      assert.match(body.error, /scope 'admin'/);
    }
    assert.deepEqual(await limited.get("/api/notifications"), { deliveries: [] });
    const { status } = await reader.post(`/api/sessions/${ofToken}/prompt`, { text: "x" });
    assert.equal(status, 403, "to look is not to prompt");
  });

  it("refuses foreign pages, other users and forms, and shows a browser how to get in", async () => {
    const welcome = await gateway.get("/", { accept: "text/html" });
    assert.equal(welcome.status, 401);
    assert.match(welcome.body, /trunkline open/);
    for (const path of ["/", "/api/me", "/api/events", "/assets/main.js"]) {
      const refused = await gateway.get(path, { accept: "application/json" });
      assert.equal(refused.status, 401);
      assert.match(JSON.parse(refused.body).error, /token is needed/);
    }
    const [, code] = gateway.ready.login.split("#");
    const origin = gateway.ready.url;
    const json = { "content-type": "application/json", origin };
    const login = await gateway.send("POST", "/login", json, { code });
    const cookie = String(login.headers["set-cookie"]?.[0]).split(";")[0] ?? "";
    assert.equal((await gateway.get("/api/me", { cookie })).status, 200);

    const name = { name: "x", scopes: ["admin"] };
    const post = (headers: object): Promise<Answered> =>
      gateway.send("POST", "/api/tokens", { cookie, ...headers }, name);
    const foreign = { origin: "http://evil.example", "sec-fetch-site": "cross-site" };
    assert.equal((await post({ ...json, ...foreign })).status, 403);
    assert.equal((await post({ ...json, origin: `http://localhost:1` })).status, 403);
    assert.equal((await post({ "content-type": "application/json" })).status, 401, "no origin");
    assert.equal((await post({ ...json, "content-type": "text/plain" })).status, 415);
    assert.equal((await gateway.get("/api/me", { cookie, ...foreign })).status, 403);
    const link = {
      ...{ "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" },
      "sec-fetch-dest": "document",
    };
    for (const path of ["/", "/login", "/answer/x"]) {
      const opened = await gateway.get(path, { cookie, ...link });
      assert.equal(opened.status, 200, path);
      assert.match(opened.body, /Opening …/, "the page is loaded anew from here");
    }
    for (const path of ["/api/me", "/api/sessions/x/export", "/metrics", "/assets/x.js", "/?x"]) {
      assert.equal((await gateway.get(path, { cookie, ...link })).status, 403, path);
    }
    const made = await post(json);
    assert.equal(made.status, 200, made.body);
    const { token, row } = JSON.parse(made.body);
    const listed = await gateway.get("/api/tokens", bearer(token));
    assert.equal(listed.body.includes(token), false, "the secret is shown once");
    await gateway.send("POST", `/api/tokens/${row.id}/revoke`, { cookie, ...json }, {});
    assert.equal((await gateway.get("/api/me", bearer(token))).status, 401);
  });

  it("holds the limits of a token on whatever it asks for, and ends made tokens with their makers", async () => {
    const scopes = ["dashboard", "sessions", "review", "admin"].flatMap((it) => ["--scope", it]);
    const observes = await home.createToken("observes", ...scopes, "--observe");
    const admin = await home.createToken("admin", ...scopes, "--expires", "1h");
    using watcher = new DashboardPage(gateway.ready.url, bearer(observes));
    using maker = new DashboardPage(gateway.ready.url, bearer(admin));
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    const sessionId = await begin(editor, folderIn(home));
    assert.equal((await watcher.get(`/api/sessions/${sessionId}`)).row.id, sessionId);
    const ofSession = ["prompt", "cancel", "undo", "answer", "setting", "comment"];
    const posts = [
      ...ofSession.map((each) => `/api/sessions/${sessionId}/${each}`),
      ...["reply", "resolve", "reopen"].map((each) => `/api/threads/x/${each}`),
      ...["/api/tools/policy", "/api/approvals/approve", "/api/servers/x/restart"],
      ...["/api/plugins/x/restart", "/api/tokens", "/api/tokens/x/revoke"],
    ];
    for (const path of posts) {
      const { status, body } = await watcher.post(path, { name: "x", scopes: ["dashboard"] });
      assert.deepEqual([status, /only observes/.test(body.error)], [403, true], path);
    }
    const more = await maker.post("/api/tokens", { name: "more", scopes: ["programs"] });
    assert.deepEqual([more.status, /'programs'/.test(more.body.error)], [403, true]);
    const late = await maker.post("/api/tokens", { name: "late", scopes: ["admin"], days: 1 });
    assert.deepEqual([late.status, /ends on/.test(late.body.error)], [403, true]);
    const made = await maker.post("/api/tokens", { name: "made", scopes: ["dashboard", "admin"] });
    using child = new DashboardPage(gateway.ready.url, bearer(made.body.token));
    const again = await child.post("/api/tokens", { name: "again", scopes: ["dashboard"] });
    const { rows: _rows } = await child.get("/api/sessions");
    assert.equal((await home.runInProcess("token", "revoke", "admin")).code, 0);
    for (const token of [admin, made.body.token, again.body.token]) {
      assert.equal((await gateway.get("/api/me", bearer(token))).status, 401);
    }
  });

  it("has so many live streams for each token, and never fewer for others", async () => {
    const token = await home.createToken("greedy", "--scope", "dashboard");
    using greedy = new DashboardPage(gateway.ready.url, bearer(token));
    using page = pageOf(gateway);
    await Promise.all(Array.from({ length: 32 }, () => greedy.events()));
    await assert.rejects(greedy.events(), /Too many live streams of this token/);
    await page.events();
  });

  it("masks secrets in everything that it shows", async () => {
    using page = pageOf(gateway);
    using editor = await AcpSocket.connect(gateway.acp, gateway.owner);
    const cwd = folderIn(home);
    const header = { name: "X-Api-Key", value: "planted-in-header" };
    const server = { type: "http", name: "n", url: "http://127.0.0.1:9", headers: [header] };
    const { sessionId } = await editor.ask("session/new", { cwd, mcpServers: [server] });
    await editor.ask("session/prompt", { sessionId, prompt: said(`say ${SECRET}`) });
    const paths = [
      "me",
      "overview",
      "sessions",
      "runs",
      "threads",
      "identities",
      "tools",
      "approvals",
    ];
    const more = ["calls", "servers", "plugins", "audit", "tokens"];
    const ofSession = ["", "/events?from=1", "/files", "/traffic"].map(
      (each) => `sessions/${sessionId}${each}`,
    );
    for (const path of [...paths, ...more, ...ofSession]) {
      const text = JSON.stringify(await page.get(`/api/${path}`));
      assert.doesNotMatch(text, /planted/, path);
    }
    const exported = await gateway.get(
      `/api/sessions/${sessionId}/export?format=html`,
      gateway.owner,
    );
    assert.equal(exported.status, 200);
    assert.match(exported.body, /•••/);
    assert.doesNotMatch(exported.body, /planted/);
  });
});
