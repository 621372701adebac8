import { gatewaySources } from "../../support/gateway-sources.ts";
import { join } from "node:path";

import { configuredBus } from "../../../src/plugin/open/configured-bus.ts";
import { type HttpServer, openHttpServer } from "../../../src/app/serve/http-server.ts";
import { type OpenedTools, openTools } from "../../../src/app/tool/open-tools.ts";
import type { SessionEvent } from "../../../src/session/event.ts";
import { announceGateway } from "../../../src/store/access/running-gateways.ts";
import { OwnerToken } from "../../../src/store/access/access-token.ts";
import { SessionLog } from "../../../src/store/session/session-log.ts";
import { type FaultApp, faultApp } from "./fault-app.ts";

const AGENT = join(import.meta.dirname, "../../support/acp-agent.mjs");
// Rates are for people, who do not prompt a hundred times in a minute.
const RATE = { limit: 1_000_000, windowMs: 1 };

/** Somebody else's agent, as configuration. */
export const OTHER_AGENT = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
  limits: { messages: { "session/*": { rate: RATE } } },
};

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any;

/** A gateway as `trunkline serve` opens it, in this process, and its owner at its HTTP door. */
export class GatewayDoor implements AsyncDisposable {
  readonly home: FaultApp["home"];
  readonly app: FaultApp["app"];
  readonly tools: OpenedTools;
  readonly server: HttpServer;
  /** The headers of the owner's requests. */
  readonly owner: { readonly authorization: string };
  readonly #open: AsyncDisposableStack;

  private constructor(
    { home, app }: FaultApp,
    tools: OpenedTools,
    server: HttpServer,
    open: AsyncDisposableStack,
  ) {
    this.home = home;
    this.app = app;
    this.tools = tools;
    this.server = server;
    this.#open = open;
    this.owner = { authorization: `Bearer ${new OwnerToken(home.data).read()}` };
  }

  static async open(config: object): Promise<GatewayDoor> {
    const opened = await faultApp(config);
    const { home, app } = opened;
    const stack = new AsyncDisposableStack();
    stack.use(home);
    const tools = stack.use(await openTools(app, { needsApprovals: true, isShared: true }));
    const { log, reloading, config: settings } = app;
    const { offer } = tools;
    const bus = stack.use(configuredBus({ config: settings, log, reloading, offer }));
    const input = { cwd: home.project, env: { HOME: home.path }, flags: {} };
    const server = await openHttpServer(app, {
      sources: { ...gatewaySources(offer), tools, bus, input },
    });
    stack.defer(() => server.close(0));
    const gateway = { url: server.localUrl, browser: server.browserUrl };
    stack.use(await announceGateway(home.data, gateway));
    return new GatewayDoor(opened, tools, server, stack);
  }

  /** The JSON that a request is answered with. Throws the words of a refusal. */
  async send(method: string, path: string, body?: object, headers: object = {}): Promise<Json> {
    const response = await fetch(`${this.server.origin}${path}`, {
      method,
      headers: { ...this.owner, "content-type": "application/json", ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    const isJson = response.headers.get("content-type") === "application/json";
    const answer = isJson ? JSON.parse(text) : text;
    if (response.ok) return answer;
    throw new Error(isJson ? answer.error : text);
  }

  /** A new session that no client is attached to. */
  async newSession(): Promise<string> {
    const url = `${this.server.origin.replace("http", "ws")}/acp`;
    const socket = new WebSocket(url, { headers: this.owner });
    await new Promise((resolve) => socket.addEventListener("open", resolve));
    const ask = async (id: number, method: string, params: object): Promise<Json> => {
      const answered = new Promise<Json>((resolve) => {
        socket.addEventListener("message", ({ data }) => {
          const message = JSON.parse(String(data));
          if (message.id === id && message.method === undefined) resolve(message);
        });
      });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
      const { result, error } = await answered;
      if (error !== undefined) throw new Error(error.message);
      return result;
    };
    try {
      await ask(1, "initialize", { protocolVersion: 1, clientCapabilities: {} });
      const place = { cwd: this.home.project, mcpServers: [] };
      return String((await ask(2, "session/new", place)).sessionId);
    } finally {
      socket.close();
    }
  }

  /** The events of a session, as they are on disk. */
  async logOf(session: string): Promise<SessionEvent[]> {
    await using log = await SessionLog.open(this.home.data);
    const entries = (await Array.fromAsync(log.read(session))).flat();
    return entries.map(({ message }) => message as SessionEvent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#open.disposeAsync();
  }
}
