// Long: an authorization server and gateways.
import assert from "node:assert/strict";
import { createPrivateKey, X509Certificate } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import { request } from "node:https";
import { text } from "node:stream/consumers";
import { after, before, describe, it } from "node:test";

import { SignJWT } from "jose";

import { AuthorizationServer, SampleIssuer } from "../samples/sample-issuer.ts";
import { issueAuthority, issueLeaf, newKey } from "../../src/protocol/bus/certificates/issue.ts";
import { AcpSocket } from "../support/acp-socket.ts";
import { bearer, type GuardedGateway, GuardedHome, PING } from "../support/guarded-gateway.ts";
import { McpHttpServer } from "../support/mcp-http-server.ts";
import { covers } from "../support/requirement.ts";

const PUBLIC = "https://tools.example.com";
const AUD = `${PUBLIC}/mcp`;
const OPEN = ["--host", "0.0.0.0"];

describe("trunkline serve with an authorization server", { timeout: 600_000 }, () => {
  let server: AuthorizationServer;
  let stranger: AuthorizationServer;
  let home: GuardedHome;
  let gateway: GuardedGateway;
  /** One that requires a scope. */
  let scoped: GuardedGateway;
  const open = new AsyncDisposableStack();
  before(async () => {
    server = open.use(await AuthorizationServer.start());
    stranger = open.use(await AuthorizationServer.start());
    home = open.use(new GuardedHome(server.configuration(PUBLIC)));
    gateway = open.use(await home.serve(...OPEN));
    const other = open.use(new GuardedHome(server.configuration(PUBLIC, { scopes: ["mcp:use"] })));
    scoped = open.use(await other.serve(...OPEN));
    const known = bearer(await server.issuer.token({ aud: AUD, scope: "mcp:use" }));
    for (const each of [gateway, scoped]) {
      // Until they have the issuer's keys, which takes long on a busy machine.
      while ((await each.get("/metrics", known)).status === 503);
    }
  });
  after(() => open.disposeAsync());

  it("says where to get tokens, to clients that have none", async () => {
    const refused = await scoped.post(PING);
    assert.equal(refused.status, 401);
    const challenge = refused.headers["www-authenticate"] ?? "";
    const url = `${PUBLIC}/.well-known/oauth-protected-resource/mcp`;
    assert.ok(challenge.includes(`resource_metadata="${url}"`), challenge);
    for (const path of ["", "/mcp"]) {
      const { status, body } = await scoped.get(`/.well-known/oauth-protected-resource${path}`);
      assert.equal(status, 200);
      assert.deepEqual(JSON.parse(body), {
        resource: AUD,
        authorization_servers: [server.issuer.issuer],
        scopes_supported: ["mcp:use"],
        bearer_methods_supported: ["header"],
        resource_name: "Trunkline",
      });
    }
  });

  it("lets in the bearers of its tokens, each into their own sessions", async () => {
    const ours = bearer(
      await home.createToken("laptop", "--scope", "tools", "--scope", "dashboard"),
    );
    const { issuer } = server;
    const alice = bearer(await issuer.token({ aud: AUD }));
    const bob = bearer(await issuer.token({ aud: AUD, sub: "bob" }));
    const session = await gateway.begin(alice);
    assert.equal((await gateway.post(PING, { ...alice, ...session })).status, 200);
    // The same person with a token that was renewed.
    const renewed = bearer(await issuer.token({ aud: AUD, jti: "2" }));
    assert.equal((await gateway.post(PING, { ...renewed, ...session })).status, 200);
    assert.equal((await gateway.post(PING, { ...bob, ...session })).status, 404);
    assert.equal((await gateway.post(PING, { ...ours, ...session })).status, 404);
    assert.equal((await gateway.get("/metrics", ours)).status, 200);
  });

  it("refuses tokens that are forged, expired, or for somebody else", async () => {
    covers("mcp.authorization.audience");
    const { issuer } = server;
    const good = { aud: AUD, scope: "mcp:use" };
    const now = Math.floor(Date.now() / 1000);
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const claims = { iss: issuer.issuer, sub: "eve", ...good, exp: now + 60 };
    const [jwk] = issuer.jwks.keys;
    const forged = {
      audience: await issuer.token({ ...good, aud: PUBLIC }),
      issuer: await issuer.token({ ...good, iss: stranger.issuer.issuer }),
      key: await stranger.issuer.token({ ...good, iss: issuer.issuer }),
      kid: await stranger.issuer.token({ ...good, iss: issuer.issuer }, { kid: jwk?.kid }),
      other: await stranger.issuer.token(good),
      expired: await issuer.token({ ...good, exp: now - 60 }),
      early: await issuer.token({ ...good, nbf: now + 60 }),
      none: `${part({ alg: "none" })}.${part(claims)}.`,
      secret: await new SignJWT(claims)
        .setProtectedHeader({ alg: "HS256", kid: jwk?.kid ?? "" })
        .sign(new TextEncoder().encode(JSON.stringify(jwk).padEnd(32))),
    };
    for (const [what, token] of Object.entries(forged)) {
      const { status, headers } = await scoped.get("/metrics", bearer(token));
      assert.equal(status, 401, what);
      assert.match(headers["www-authenticate"] ?? "", /error="invalid_token"/, what);
    }
    const poor = await scoped.get("/metrics", bearer(await issuer.token({ ...good, scope: "x" })));
    assert.equal(poor.status, 403);
    const told = poor.headers["www-authenticate"] ?? "";
    assert.match(told, /error="insufficient_scope", scope="mcp:use", resource_metadata=/);
    const right = bearer(await issuer.token(good));
    assert.equal((await scoped.get("/metrics", right)).status, 200);
  });

  it("gives its tokens what the configuration grants, and no programs unless it says so", async () => {
    const mcpServers = [{ name: "x", command: "true", args: [], env: [] }];
    for (const [grants, path, status, isRefused] of [
      [undefined, "/metrics", 200, true],
      [["sessions"], "/metrics", 403, true],
      [["sessions", "programs"], "/metrics", 403, false],
    ] as const) {
      using home = new GuardedHome(
        server.configuration(PUBLIC, grants === undefined ? {} : { grants }),
      );
      await using gateway = await home.serve(...OPEN);
      const known = bearer(await server.issuer.token({ aud: AUD }));
      let answer = await gateway.get(path, known);
      // The issuer's keys did not come in time, on a busy machine: it says to try again.
      while (answer.status === 503) answer = await gateway.get(path, known);
      assert.equal(answer.status, status, String(grants));
      if (status === 403) assert.match(answer.body, /`serve\.oauth\.grants`/);
      using client = await AcpSocket.connect(gateway.acp, known);
      const { error } = await client.answer("session/new", { cwd: home.path, mcpServers });
      assert.equal(error?.code, isRefused ? -31701 : undefined, String(grants));
    }
  });

  it("ends what a token opened when the token expires", async () => {
    const openFor = async (seconds: number) => {
      const exp = Math.floor(Date.now() / 1000) + seconds;
      const known = bearer(await server.issuer.token({ aud: AUD, exp }));
      const headers = { ...known, accept: "text/event-stream" };
      return { known, stream: await fetch(`http://${gateway.authority}/sse`, { headers }) };
    };
    // Clocks may be a few seconds apart, so one that expires now is good for a moment more. A busy
    // machine may need longer than that moment.
    let { known, stream } = await openFor(0);
    for (let more = 5; stream.status !== 200; more *= 2) {
      assert.ok(more < 200, `status ${stream.status}`);
      ({ known, stream } = await openFor(more));
    }
    await assert.rejects(stream.text());
    assert.equal((await gateway.get("/metrics", known)).status, 401);
  });

  it("refuses tokens that it cannot verify, and still accepts our own", async () => {
    using home = new GuardedHome({
      serve: { publicUrl: PUBLIC, oauth: { authorizationServers: ["http://127.0.0.1:1"] } },
    });
    const ours = bearer(
      await home.createToken("laptop", "--scope", "tools", "--scope", "dashboard"),
    );
    await using gateway = await home.serve(...OPEN);
    const issuer = await SampleIssuer.create("http://127.0.0.1:1");
    const refused = await gateway.get("/metrics", bearer(await issuer.token({ aud: AUD })));
    assert.equal(refused.status, 503);
    assert.equal((await gateway.get("/metrics", ours)).status, 200);
  });

  it("does not start with contradictory settings", async () => {
    using home = new GuardedHome();
    const issuers = (url: string) => `serve.oauth.authorizationServers=["${url}"]`;
    const missing = await home.run("serve", "--set", issuers("https://login.example.com"));
    assert.equal(missing.code, 1);
    assert.match(missing.err, /'serve.oauth' needs 'serve.publicUrl'/);
    const args = [
      "--set",
      `serve.publicUrl=${PUBLIC}`,
      "--set",
      issuers("http://login.example.com"),
    ];
    const clear = await home.run("serve", ...args);
    assert.match(clear.err, /'http:\/\/login\.example\.com'.*clear text/);
  });

  // Last: from then on, the shared gateway refuses what is wrong from this address for a while.
  it("accepts a valid token, however many wrong ones have come from the same address", async () => {
    const statuses = new Set<number>();
    for (let times = 0; times < 30; times++) {
      const iss = server.issuer.issuer;
      const wrong = await stranger.issuer.token({ aud: AUD, iss, jti: String(times) });
      statuses.add((await gateway.get("/metrics", bearer(wrong))).status);
    }
    assert.deepEqual([...statuses], [401, 429]);
    const good = bearer(await server.issuer.token({ aud: AUD }));
    assert.equal((await gateway.get("/metrics", good)).status, 200);
    assert.equal((await gateway.get("/metrics", gateway.owner)).status, 200);
  });
});

describe("trunkline serve with a certificate", { timeout: 600_000 }, () => {
  it("speaks TLS, and loads a renewed certificate", async () => {
    const { ca: first, cert, key } = makeCertificate();
    using home = new GuardedHome({ serve: { tls: { certFile: "cert.pem", keyFile: "key.pem" } } });
    home.write("cert.pem", cert);
    home.write("key.pem", key);
    const token = await home.createToken("laptop", "--scope", "dashboard");
    await using gateway = await home.serve(...OPEN);
    assert.equal(gateway.program.stderr, "");
    const [ready] = (await gateway.program.answers(1)) as Record<string, string>[];
    assert.match(ready?.mcp ?? "", /^https:\/\/0\.0\.0\.0:/);
    assert.match(ready?.acp ?? "", /^wss:/);
    const metrics = async (ca: string): Promise<string> => {
      const { port } = gateway;
      const headers = bearer(token);
      const call = request({
        host: "127.0.0.1",
        port,
        path: "/metrics",
        ca,
        headers,
        agent: false,
      });
      call.end();
      const [response] = (await once(call, "response")) as [IncomingMessage];
      return text(response);
    };
    assert.match(await metrics(first), /trunkline_uptime_seconds/);
    await assert.rejects(gateway.get("/healthz"), "clear text is not answered");
    const renewed = makeCertificate();
    home.write("cert.pem", renewed.cert);
    home.write("key.pem", renewed.key);
    await gateway.program.until(({ stderr }) => stderr.includes("tls.renewed"));
    assert.match(await metrics(renewed.ca), /trunkline_uptime_seconds/);
    await assert.rejects(metrics(first));
  });

  it("does not start without the files, and names them", async () => {
    using home = new GuardedHome({ serve: { tls: { certFile: "cert.pem", keyFile: "key.pem" } } });
    const missing = await home.run("serve", "--port", "0");
    assert.equal(missing.code, 1);
    assert.match(missing.err, /Cannot read '.*cert\.pem', named by `serve\.tls\.certFile`/);
    home.write("cert.pem", "x");
    home.write("key.pem", "y");
    const wrong = await home.run("serve", "--port", "0");
    assert.match(wrong.err, /Cannot use '.*cert\.pem' with '.*key\.pem' for TLS/);
  });
});

describe("tasks of 2026-07-28", { timeout: 600_000 }, () => {
  it("are visible to the principal that began them", async () => {
    await using server = await McpHttpServer.start({
      authorize: ({ headers }) => ({ principal: { id: String(headers.authorization) } }),
    });
    const ask = async (who: string, method: string, params: object, name: string) => {
      const _meta = {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": { name: "test", version: "1" },
        "io.modelcontextprotocol/clientCapabilities": {
          extensions: { "io.modelcontextprotocol/tasks": {} },
        },
      };
      const body = { jsonrpc: "2.0", id: 1, method, params: { ...params, _meta } };
      const { body: answer } = await server.post(body, {
        ...{ "mcp-protocol-version": "2026-07-28", "mcp-method": method, "mcp-name": name },
        authorization: who,
      });
      return answer;
    };
    const params = { name: "slow_compute", arguments: { seconds: 0, label: "L" } };
    const begun = await ask("mine", "tools/call", params, "slow_compute");
    const taskId = String(begun.result?.taskId);
    assert.equal(begun.result?.resultType, "task", JSON.stringify(begun));
    for (const method of ["tasks/get", "tasks/cancel"]) {
      assert.match(
        (await ask("theirs", method, { taskId }, taskId)).error?.message ?? "",
        /no task/,
      );
    }
    assert.equal((await ask("mine", "tasks/get", { taskId }, taskId)).result?.taskId, taskId);
  });
});

/** A certificate for 127.0.0.1, and the authority that has signed it. */
function makeCertificate(): { readonly ca: string; readonly cert: string; readonly key: string } {
  const now = Date.now();
  const signing = createPrivateKey(newKey());
  const ca = issueAuthority(signing, now);
  const key = newKey();
  const signer = { certificate: new X509Certificate(ca), key: signing };
  const options = { name: "tools", key: createPrivateKey(key), hosts: [], now };
  const cert = issueLeaf(signer, options);
  assert.ok(new X509Certificate(cert).checkIP("127.0.0.1"));
  return { ca, cert, key };
}
