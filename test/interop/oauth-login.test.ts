import assert from "node:assert/strict";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import { createServer, get } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { before, describe, it } from "node:test";

import { SampleHome } from "../samples/sample-home.ts";
import { Program } from "../support/program.ts";
import { testCredentials } from "../support/quic-pair.ts";
import { GuardedServer } from "./oauth/guarded-server.ts";
import { Issuer, type IssuerOptions, packages } from "./oauth/issuer.ts";

/** A home with one MCP server that wants a login, and its issuer. */
class Rig implements AsyncDisposable {
  readonly home: SampleHome;
  readonly server: GuardedServer;
  readonly issuer: Issuer;

  private constructor(home: SampleHome, server: GuardedServer, issuer: Issuer) {
    this.home = home;
    this.server = server;
    this.issuer = issuer;
  }

  static async open(options: IssuerOptions & { readonly oauth?: object } = {}): Promise<Rig> {
    const server = await GuardedServer.open();
    const issuer = await Issuer.open(server.url, options);
    server.issuer = issuer;
    const home = await SampleHome.create();
    const work = {
      url: server.url,
      ...(options.oauth === undefined ? {} : { oauth: { issuer: issuer.url, ...options.oauth } }),
    };
    await home.write(home.userFile, JSON.stringify({ mcpServers: { work } }));
    return new Rig(home, server, issuer);
  }

  start(...args: string[]): Program {
    const env = { HOME: this.home.path, TRUNKLINE_TOKEN_STORE: "file" };
    return new Program(args, { env, cwd: this.home.project });
  }

  async run(...args: string[]): Promise<{ code: unknown; out: string; err: string }> {
    await using program = this.start(...args);
    program.child.stdin.end();
    const code = await program.exit;
    return { code, out: program.lines.join("\n"), err: program.stderr };
  }

  /** Logs in with a browser that comes back to the program itself. */
  async logIn(): Promise<void> {
    await using program = this.start("server", "login", "work", "--print");
    const end = await this.#browse(program);
    const page = await fetch(end);
    assert.equal(page.status, 200);
    assert.equal(await program.exit, 0, program.stderr);
  }

  /** The same on another machine: the person pastes the last address. */
  async logInByPaste(): Promise<void> {
    await using program = this.start("server", "login", "work", "--print");
    const end = await this.#browse(program);
    program.write(end.href.replace(/state=[^&]*/, "state=wrong"));
    await program.says(/not the address of the last page/);
    program.write(end.href);
    assert.equal(await program.exit, 0, program.stderr);
  }

  /** Every file under the home, as one text. */
  files(): string {
    const entries = readdirSync(this.home.path, { recursive: true, withFileTypes: true });
    const files = entries.filter((entry) => entry.isFile());
    return files.map((file) => readFileSync(join(file.parentPath, file.name), "latin1")).join("\n");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.issuer[Symbol.asyncDispose]();
    await this.home[Symbol.asyncDispose]();
  }

  async #browse(program: Program): Promise<URL> {
    await program.says(/\n\n {2}http\S+\n/);
    const [, link = ""] = /\n\n {2}(http\S+)\n/.exec(program.stderr) ?? [];
    return await this.issuer.browse(link).catch(async (error: unknown) => {
      program.child.kill();
      await program.exit;
      throw error;
    });
  }
}

const CALL = ["tool", "call", "work"] as const;

describe("a login at an MCP server, with oidc-provider", { timeout: 300_000 }, () => {
  before(() => packages.install());

  it("registers, logs in with PKCE, calls a tool, and logs out", async () => {
    await using rig = await Rig.open();
    const before = await rig.run("server", "test", "work");
    assert.equal(before.code, 1);
    assert.match(before.err, /wants a login \(401\)\. Run `trunkline server login work`/);
    await rig.logIn();
    assert.ok(rig.issuer.events.includes("registration_create.success"));
    const after = await rig.run("server", "test", "work");
    assert.equal(after.code, 0, after.err);
    const listed = await rig.run("server", "list");
    assert.match(listed.out, /logged in/);
    const [token = ""] = rig.server.tokens;
    assert.notEqual(token, "");
    assert.ok(!rig.files().includes(token), "a token is on disk in clear");
    const out = await rig.run("server", "logout", "work");
    assert.equal(out.code, 0, out.err);
    assert.match(out.out, /has ended its tokens/);
    assert.equal(await rig.issuer.scopesOf(token, rig.server.url), undefined, "it was not revoked");
    assert.equal((await rig.run("server", "test", "work")).code, 1);
  });

  it("takes the address that a person pastes, and not that of another login", async () => {
    await using rig = await Rig.open();
    await rig.logInByPaste();
    assert.equal((await rig.run("server", "test", "work")).code, 0);
  });

  it("renews a login once, though several processes need it at once", async () => {
    // Tokens are renewed half a minute before their end: each use finds this one ended.
    await using rig = await Rig.open({ lifetime: 31 });
    await rig.logIn();
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    const ran = await Promise.all([1, 2, 3].map(() => rig.run("server", "test", "work")));
    for (const { code, err } of ran) assert.equal(code, 0, err);
    const renewals = rig.issuer.events.filter((event) => event === "grant refresh_token");
    assert.ok(renewals.length >= 1, rig.issuer.events.join());
    assert.ok(!rig.issuer.events.includes("grant.error"), rig.issuer.events.join());
  });

  it("uses a configured client with a secret", async () => {
    const clients = [
      {
        client_id: "ours",
        client_secret: "s3cret-of-ours",
        application_type: "native",
        redirect_uris: ["http://127.0.0.1/callback"],
        grant_types: ["authorization_code", "refresh_token"],
      },
    ];
    const oauth = { clientId: "ours", clientSecret: "s3cret-of-ours" };
    await using rig = await Rig.open({ clients, oauth });
    await rig.logIn();
    assert.ok(!rig.issuer.events.includes("registration_create.success"));
    assert.equal((await rig.run("server", "test", "work")).code, 0);
  });

  it("is known by its metadata document, and registers nowhere", async () => {
    const { server: pem } = await testCredentials();
    const asked: string[] = [];
    let clientMetadataUrl = "";
    await using site = createServer({ ...pem }, (request, response) => {
      asked.push(request.url ?? "");
      const document = {
        client_id: clientMetadataUrl,
        client_name: "Trunkline",
        application_type: "native",
        redirect_uris: ["http://127.0.0.1/callback"],
        grant_types: ["authorization_code", "refresh_token"],
        token_endpoint_auth_method: "none",
      };
      response.setHeader("content-type", "application/json").end(JSON.stringify(document));
    }).listen(0, "127.0.0.1");
    await once(site, "listening");
    clientMetadataUrl = `https://localhost:${(site.address() as AddressInfo).port}/client.json`;
    const fetchDocument = async (url: string): Promise<Response> => {
      const [message] = (await once(get(url, { ca: pem.ca }), "response")) as [IncomingMessage];
      return new Response(await text(message), { status: message.statusCode ?? 500 });
    };
    await using rig = await Rig.open({ fetchDocument, oauth: { clientMetadataUrl } });
    await rig.logIn();
    assert.equal(asked[0], "/client.json");
    assert.ok(!rig.issuer.events.includes("registration_create.success"));
    assert.equal((await rig.run("server", "test", "work")).code, 0);
  });

  it("asks for a new login with more scopes when a call needs them", async () => {
    await using rig = await Rig.open();
    rig.server.scope = "tools:write";
    await rig.logIn();
    const refused = await rig.run(...CALL);
    assert.match(
      refused.out + refused.err,
      /wants the scope tools:write \(403\)\. Log in again with `trunkline server login work`/,
    );
    await rig.logIn();
    const done = await rig.run(...CALL);
    assert.equal(done.code, 0, done.err);
    assert.match(done.out, /done/);
  });

  it("brings up the server in a gateway that runs already", async () => {
    await using rig = await Rig.open();
    await using program = rig.start("mcp");
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "t", version: "1" },
    };
    program.write({ jsonrpc: "2.0", id: 1, method: "initialize", params });
    await program.answers(1);
    program.write({ jsonrpc: "2.0", method: "notifications/initialized" });
    program.write({ jsonrpc: "2.0", id: 2, method: "tools/list" });
    await program.until(({ lines }) => lines.some((line) => line.includes('"id":2')));
    assert.ok(!program.lines.some((line) => line.includes('"name":"work"')));
    await rig.logIn();
    await program.until(({ lines }) => lines.some((line) => line.includes("tools/list_changed")));
    program.write({ jsonrpc: "2.0", id: 3, method: "tools/list" });
    await program.until(({ lines }) => lines.some((line) => line.includes('"id":3')));
    assert.ok(program.lines.some((line) => line.includes('"name":"work"')));
    program.child.stdin.end();
    assert.equal(await program.exit, 0);
  });
});
