import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";
import { WebSocket } from "ws";

import { AcpSocket } from "../support/acp-socket.ts";
import { bareProxy, noNginx } from "../support/nginx.ts";
import {
  bearer,
  type GuardedGateway,
  GuardedHome,
  INITIALIZE,
} from "../support/guarded-gateway.ts";
import { allAsOtherUser, asOtherUser, noOtherUser, runAsOtherUser } from "../support/other-user.ts";

const PATHS = ["/", "/metrics", "/mcp", "/sse", "/messages", "/acp", "/nope"];
const UPGRADE = {
  connection: "upgrade",
  upgrade: "websocket",
  "sec-websocket-version": "13",
  "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
};
const HELLO = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 1 } };
const JSON_TYPE = { "content-type": "application/json" };

/** A session that has a program started at once, which leaves a file behind. */
function sessionThatRuns(home: GuardedHome): { params: object; hasRun: () => boolean } {
  const trace = join(home.path, "was-here");
  const mcpServers = [{ name: "evil", command: "touch", args: [trace], env: [] }];
  return { params: { cwd: home.path, mcpServers }, hasRun: () => existsSync(trace) };
}

/** The status of an upgrade that is refused. */
async function refusedUpgrade(url: string, options: WebSocket.ClientOptions): Promise<string> {
  return String(await once(new WebSocket(url, options), "error"));
}

/** Of the gateway that tests share which need none of their own. */
let home: GuardedHome;
let gateway: GuardedGateway;

describe("trunkline serve", { timeout: 600_000 }, () => {
  before(async () => {
    home = new GuardedHome();
    gateway = await home.serve();
  });
  after(async () => {
    await gateway[Symbol.asyncDispose]();
    home[Symbol.dispose]();
  });

  describe("another user of the machine", { timeout: 600_000, skip: noOtherUser }, () => {
    it("is refused on every path, and cannot read the owner's token", async () => {
      const { port } = gateway;
      const requests = [
        ...PATHS.flatMap((path) =>
          ["GET", "POST", "DELETE"].map((method) => ({ port, method, path, headers: JSON_TYPE })),
        ),
        { port, method: "GET", path: "/acp", headers: UPGRADE },
        { port, method: "POST", path: "/acp", headers: JSON_TYPE, body: HELLO },
      ];
      const answers = await allAsOtherUser(requests);
      assert.equal(answers.length, requests.length);
      for (const [at, { status }] of answers.entries()) {
        assert.equal(status, 401, JSON.stringify(requests[at]));
      }
      assert.equal((await asOtherUser({ port, path: "/healthz" })).status, 200);
      const { tokenFile } = gateway.ready;
      const read = await runAsOtherUser(`require("fs").readFileSync(${JSON.stringify(tokenFile)})`);
      assert.match(read, /EACCES/);
    });

    it("can use neither the owner's cookie nor the owner's login link", async () => {
      const { port } = gateway;
      const code = await loginCode();
      const take = { port, method: "POST", path: "/login", headers: JSON_TYPE, body: { code } };
      assert.equal((await asOtherUser(take)).status, 403);
      const letIn = await gateway.send("POST", "/login", JSON_TYPE, { code });
      assert.equal(letIn.status, 200, letIn.body);
      const cookie = String(letIn.headers["set-cookie"]).split(";")[0] ?? "";
      const own = { cookie, "sec-fetch-site": "same-origin" };
      assert.equal((await gateway.get("/metrics", own)).status, 200);
      // Browsers send it to every port, so a server of another user gets to see it.
      assert.equal((await asOtherUser({ port, path: "/metrics", headers: own })).status, 401);
      await asOtherUser({ port, method: "POST", path: "/logout", headers: own });
      assert.equal((await gateway.get("/metrics", own)).status, 200, "nobody else logs it out");
    });

    it("can use neither by a made-up Host, where other machines may connect", async () => {
      using home = new GuardedHome();
      await using gateway = await home.serve("--host", "0.0.0.0");
      const { port } = gateway;
      const [, code] = gateway.ready.login.split("#");
      const hosts = ["192.0.2.7", "0.0.0.0", "8.8.8.8", "127.0.0.1"].map(
        (name) => `${name}:${port}`,
      );
      const taken = await allAsOtherUser(
        hosts.map((host) => {
          const headers = { ...JSON_TYPE, host };
          return { port, method: "POST", path: "/login", headers, body: { code } };
        }),
      );
      assert.deepEqual(
        taken.map(({ status }) => status),
        hosts.map(() => 403),
      );
      const cookie = await cookieOf(gateway, code);
      const used = await allAsOtherUser(
        hosts.map((host) => {
          return {
            port,
            path: "/metrics",
            headers: { cookie, host, "sec-fetch-site": "same-origin" },
          };
        }),
      );
      assert.deepEqual(
        used.map(({ status }) => status),
        hosts.map(() => 401),
      );
    });
  });

  describe("a stranger behind a bare proxy", { timeout: 600_000, skip: noNginx }, () => {
    const WEBSOCKETS = `proxy_http_version 1.1;
      proxy_set_header Upgrade $http_upgrade;
      proxy_set_header Connection "upgrade";`;

    it("is refused like everybody else, and starts no program", async () => {
      await using proxy = await bareProxy(gateway.ready.url, WEBSOCKETS);
      const at = `http://127.0.0.1:${proxy.port}`;
      for (const path of PATHS) {
        assert.equal((await fetch(`${at}${path}`)).status, 401, path);
      }
      const { params, hasRun } = sessionThatRuns(home);
      assert.match(await refusedUpgrade(`ws://127.0.0.1:${proxy.port}/acp`, {}), /401/);
      const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "session/new", params });
      const posted = await fetch(`${at}/acp`, { method: "POST", headers: JSON_TYPE, body });
      assert.equal(posted.status, 401);
      // The owner comes through.
      using owner = await AcpSocket.connect(`ws://127.0.0.1:${proxy.port}/acp`, gateway.owner);
      await owner.ask("session/list", {});
      assert.equal(hasRun(), false);
    });

    it("cannot lock others out by sending wrong tokens from the same address", async () => {
      using home = new GuardedHome();
      const good = bearer(await home.createToken("good", "--scope", "dashboard"));
      await using gateway = await home.serve();
      await using proxy = await bareProxy(gateway.ready.url);
      const status = async (headers: Record<string, string>): Promise<number> => {
        return (await fetch(`http://127.0.0.1:${proxy.port}/metrics`, { headers })).status;
      };
      for (let times = 0; times < 30; times++) {
        await status(bearer(`tlk_${String(times).padEnd(43, "x")}`));
      }
      assert.equal(await status(bearer("tlk_wrong")), 429);
      assert.equal(await status(good), 200);
      assert.equal(await status(gateway.owner), 200);
    });
  });

  describe("a page from another port of this machine", { timeout: 600_000 }, () => {
    const origins = [
      "http://localhost:5173",
      "http://127.0.0.1:5173",
      "null",
      "https://evil.example",
    ];

    it("is refused on every path, with whatever cookie or token", async () => {
      const cookie = await cookieOf(gateway, await loginCode());
      const proofs = [{}, gateway.owner, { cookie }];
      for (const path of [...PATHS, "/healthz", "/login"]) {
        for (const proof of proofs) {
          for (const origin of origins) {
            const answer = await gateway.get(path, { ...proof, origin });
            assert.equal(answer.status, 403, `${path} ${origin}`);
            assert.equal(answer.headers["access-control-allow-origin"], undefined);
          }
          for (const site of ["same-site", "cross-site"]) {
            const answer = await gateway.get(path, { ...proof, "sec-fetch-site": site });
            assert.equal(answer.status, 403, `${path} ${site}`);
          }
        }
      }
      for (const headers of proofs) {
        for (const origin of origins) {
          assert.match(await refusedUpgrade(gateway.acp, { headers, origin }), /403/, origin);
        }
        const other = { headers: { ...headers, "sec-fetch-site": "same-site" } };
        assert.match(await refusedUpgrade(gateway.acp, other), /403/);
      }
    });

    it("is allowed if it is configured, with a token and never with a cookie", async () => {
      const origin = "http://localhost:5173";
      using home = new GuardedHome({ serve: { allowedOrigins: [origin] } });
      await using gateway = await home.serve();
      const page = { origin, "sec-fetch-site": "same-site" };
      assert.equal((await gateway.get("/metrics", { ...page, ...gateway.owner })).status, 200);
      const cookie = await cookieOf(gateway, gateway.ready.login.split("#")[1]);
      assert.equal((await gateway.get("/metrics", { ...page, cookie })).status, 401);
      assert.match(await refusedUpgrade(gateway.acp, { origin, headers: { cookie } }), /401/);
      assert.equal((await gateway.post(INITIALIZE, { ...page, cookie })).status, 401);
    });
  });

  describe("a request with a doubled header", { timeout: 600_000 }, () => {
    it("is refused", async () => {
      const own = ["Host", gateway.authority, "Authorization", gateway.owner.authorization];
      const cases: [string[], number][] = [
        [own, 200],
        [[...own, "Host", "evil.example"], 400],
        [["Host", "evil.example", ...own], 400],
        [[...own, "Authorization", "Bearer x"], 400],
        [[...own, "Origin", gateway.ready.url, "Origin", "https://evil.example"], 400],
        [[...own, "Sec-Fetch-Site", "same-origin", "Sec-Fetch-Site", "cross-site"], 400],
      ];
      for (const [headers, status] of cases) {
        assert.equal(await rawStatus(gateway.port, headers), status, headers.join(" "));
      }
    });
  });
});

describe("trunkline serve --no-auth", { timeout: 600_000 }, () => {
  it("does not start on an address that others can reach", async () => {
    using home = new GuardedHome();
    const base = ["serve", "--no-auth", "--port", "0"];
    for (const [args, says] of [
      [["--host", "0.0.0.0"], /Cannot serve '0\.0\.0\.0' with --no-auth/],
      [["--host", "::"], /Cannot serve '::' with --no-auth/],
      [
        ["--set", "serve.publicUrl=https://tools.example.com"],
        /tools\.example\.com' with --no-auth/,
      ],
    ] as const) {
      await using program = home.start(...base, ...args);
      const started = program
        .until(({ lines }) => lines.length > 0)
        .then(
          () => "started",
          () => "ended",
        );
      assert.equal(await Promise.race([program.exit, started]), 2);
      assert.match(program.stderr, says);
    }
  });

  it("lets local programs in, warns about it, and still starts no program for a client", async () => {
    using home = new GuardedHome();
    await using gateway = await home.serve("--no-auth");
    await gateway.program.says(/warning: --no-auth: EVERY USER/);
    assert.equal((await gateway.get("/metrics")).status, 200);
    assert.equal((await gateway.post(INITIALIZE)).status, 200);
    using client = await AcpSocket.connect(gateway.acp);
    const { params, hasRun } = sessionThatRuns(home);
    const refused = await client.answer("session/new", params);
    assert.equal(refused.error?.code, -31701);
    assert.match(refused.error?.data?.details, /'programs'.*a client without a token lacks/);
    const { sessionId } = await client.ask("session/new", { cwd: home.path, mcpServers: [] });
    for (const method of ["session/load", "session/resume", "session/fork"]) {
      await client.ask("session/close", { sessionId }).catch(() => {});
      const again = await client.answer(method, { ...params, sessionId });
      assert.equal(again.error?.code, -31701, method);
    }
    assert.equal(hasRun(), false);
    const origin = "http://localhost:5173";
    assert.equal((await gateway.get("/metrics", { origin })).status, 403);
    assert.match(await refusedUpgrade(gateway.acp, { origin }), /403/);
    assert.equal((await gateway.get("/metrics", bearer("tlk_wrong"))).status, 401);
  });
});

/** The code of a fresh login link of the shared gateway. */
async function loginCode(): Promise<string> {
  const { out } = await home.runInProcess("open", "--json");
  const { url } = JSON.parse(out) as { url: string };
  return url.split("#")[1] ?? "";
}

async function cookieOf(gateway: GuardedGateway, code: string | undefined): Promise<string> {
  const { headers, body } = await gateway.send("POST", "/login", JSON_TYPE, { code });
  assert.match(String(headers["set-cookie"]), /^trunkline_/, body);
  return String(headers["set-cookie"]).split(";")[0] ?? "";
}

/** The status of a request whose headers are sent as they are. */
async function rawStatus(port: string, headers: readonly string[]): Promise<number> {
  const socket = connect(Number(port), "127.0.0.1");
  const lines = ["GET /metrics HTTP/1.1", "Connection: close"];
  for (let at = 0; at < headers.length; at += 2) lines.push(`${headers[at]}: ${headers[at + 1]}`);
  socket.end(`${lines.join("\r\n")}\r\n\r\n`);
  return Number((await text(socket)).split(" ")[1]);
}
