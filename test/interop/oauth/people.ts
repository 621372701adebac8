import assert from "node:assert/strict";

import type { Json } from "../../support/acp-app.ts";
import { bearer, type GuardedGateway } from "../../support/guarded-gateway.ts";
import type { Issuer } from "./issuer.ts";

/** A client of 2025-11-25 that can open pages. */
export class Client {
  readonly #gateway: GuardedGateway;
  readonly #headers: Record<string, string>;
  #id = 0;

  constructor(gateway: GuardedGateway, headers: Record<string, string>) {
    this.#gateway = gateway;
    this.#headers = headers;
  }

  static async begin(gateway: GuardedGateway, token: string): Promise<Client> {
    const body = {
      ...{ jsonrpc: "2.0", id: 0, method: "initialize" },
      params: {
        protocolVersion: "2025-11-25",
        capabilities: { elicitation: { url: {} } },
        clientInfo: { name: "c", version: "1" },
      },
    };
    const { headers, status } = await gateway.post(body, bearer(token));
    assert.equal(status, 200);
    const session = { "mcp-session-id": String(headers["mcp-session-id"]) };
    return new Client(gateway, { ...bearer(token), ...session });
  }

  async ask(method: string, params: object = {}): Promise<Json> {
    const body = { jsonrpc: "2.0", id: ++this.#id, method, params };
    const { body: text } = await this.#gateway.post(body, this.#headers);
    const lines = text.split("\n").filter((line) => line.startsWith("data: {"));
    const all = lines.length === 0 ? [text] : lines.map((line) => line.slice(6));
    return all.map((each): Json => JSON.parse(each)).find(({ id }) => id === body.id) ?? {};
  }

  async tools(): Promise<string[]> {
    const { result } = await this.ask("tools/list");
    return (result?.tools ?? []).map(({ name }: Json) => name as string);
  }

  call(name = "work"): Promise<Json> {
    return this.ask("tools/call", { name, arguments: {} });
  }
}

/** A browser on the login page. */
export class Browser {
  readonly #gateway: GuardedGateway;
  #cookie = "";

  constructor(gateway: GuardedGateway) {
    this.#gateway = gateway;
  }

  async post(path: string, body: object = {}, more: Record<string, string> = {}): Promise<Json> {
    const origin = `http://${this.#gateway.authority}`;
    const headers = { cookie: this.#cookie, origin, "sec-fetch-site": "same-origin", ...more };
    const answered = await this.#gateway.post(body, headers, `/logins/${path}`);
    const [cookie] = answered.headers["set-cookie"] ?? [];
    if (cookie !== undefined) {
      assert.match(cookie, /HttpOnly; SameSite=Strict/);
      this.#cookie = cookie.split(";")[0] ?? "";
    }
    return { status: answered.status, ...JSON.parse(answered.body) };
  }

  async enter(token: string): Promise<void> {
    const { status } = await this.post("enter", {}, { authorization: `Bearer ${token}` });
    assert.equal(status, 200);
  }

  /** Goes to the issuer as somebody, and comes back. */
  async logIn(issuer: Issuer, account: string, server = "work"): Promise<Json> {
    const { link, error } = await this.post("begin", { server });
    assert.equal(error, undefined);
    issuer.account = account;
    const last = await issuer.browse(String(link));
    const foreign = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    const page = await this.#gateway.get(last.pathname + last.search, foreign);
    assert.equal(page.status, 200);
    assert.match(page.body, /<h1>Trunkline/);
    return this.post("finish", { search: last.search });
  }
}
