// The official SDK's server, which passes everything on to an agent by the SDK's own client.
import { spawn } from "node:child_process";
import { createServer } from "node:http";
import { Readable, Writable } from "node:stream";
import { WebSocketServer } from "ws";

import { Packages } from "../../test/support/packages.ts";
import { offer } from "./offer.ts";

interface Context {
  readonly method: string;
  readonly params: unknown;
  readonly client: Peer;
}

interface Peer {
  request(method: string, params: unknown): Promise<unknown>;
  notify(method: string, params: unknown): Promise<void>;
}

interface App {
  onRequest(method: string, handle: (context: Context) => unknown): App;
  onNotification(method: string, handle: (context: Context) => unknown): App;
  onConnect(handle: (connection: { readonly client: Peer }) => void): App;
  connect(stream: unknown): { readonly agent: Peer };
}

interface Sdk {
  agent(options: { name: string }): App;
  client(options: { name: string }): App;
  ndJsonStream(out: unknown, input: unknown): unknown;
}

const [command = "", ...args] = process.argv.slice(2);
const packages = new Packages("test/acp");
const SDK = ["@agentclientprotocol", "sdk", "dist"] as const;
const sdk = await packages.import<Sdk>(...SDK, "v1/stable/acp.js");
const { AcpServer } = await packages.import<{
  AcpServer: new (options: { createAgent: () => App }) => object;
}>(...SDK, "transports/server.js");
const { createNodeWebSocketUpgradeHandler } = await packages.import<{
  createNodeWebSocketUpgradeHandler: (server: object, ws: WebSocketServer) => never;
}>(...SDK, "transports/node-adapter.js");

function createAgent(): App {
  const child = spawn(command, args, { stdio: ["pipe", "pipe", "inherit"] });
  let client: Peer | undefined;
  const behind = sdk
    .client({ name: "relay" })
    .onNotification("session/update", ({ method, params }) => client?.notify(method, params))
    .onRequest("session/request_permission", ({ method, params }) =>
      client?.request(method, params),
    )
    .connect(sdk.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout)));
  const pass = ({ method, params }: Context): Promise<unknown> =>
    behind.agent.request(method, params);
  return sdk
    .agent({ name: "relay" })
    .onConnect((connection) => (client = connection.client))
    .onRequest("initialize", pass)
    .onRequest("session/new", pass)
    .onRequest("session/prompt", pass);
}

const http = createServer();
const ws = new WebSocketServer({ noServer: true, perMessageDeflate: false });
http.on("upgrade", createNodeWebSocketUpgradeHandler(new AcpServer({ createAgent }), ws));
offer(http);
