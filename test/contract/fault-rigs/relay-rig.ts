import { gatewaySources } from "../../support/gateway-sources.ts";
import { openMcp } from "../../../src/app/door/mcp-on-stdio.ts";
import { openHttpServer } from "../../../src/app/serve/http-server.ts";
import { gatewaySockets } from "../../../src/server/relay/gateway-sockets.ts";
import { openGatewaySocket } from "../../../src/server/relay/gateway-socket.ts";
import { mcpRelay } from "../../../src/server/relay/mcp-relay.ts";
import { reachGateway } from "../../../src/server/relay/reach-gateway.ts";
import { termsOf } from "../../../src/server/relay/terms.ts";
import { memoryPair } from "../../../src/wire/channel/memory.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";
import type { FaultApp } from "./fault-app.ts";
import {
  askOn,
  type CallTool,
  HELLO,
  mcpSteps,
  need,
  openToolsApp,
  ToolsRig,
} from "./tools-rig.ts";

type Ask = ReturnType<typeof askOn>;

const GRACE = 1_000;

/** A window whose `trunkline mcp` relays to a gateway, or serves it itself where that has ended. */
interface Window extends AsyncDisposable {
  readonly ask: Ask;
}

async function openWindow({ home, app }: FaultApp): Promise<Window> {
  const { config } = app;
  let why = "is not running";
  const gateway = await reachGateway({
    data: home.data,
    sockets: gatewaySockets(home.data),
    greeting: { protocol: "mcp", folder: home.project, ...termsOf(config, process.env) },
    limits: config.limits,
    refused: (says) => (why = says),
  });
  // `trunkline mcp` serves its window itself then.
  if (gateway === undefined) throw new Error(`The gateway ${why}`);
  const [client, near] = memoryPair();
  const relay = mcpRelay({
    client: near,
    gateway,
    open: (channel, firstId) => openMcp(app, channel, { firstId }),
    tookOver: () => {},
  });
  const ask = askOn(client);
  need(await ask("initialize", { protocolVersion: "2025-11-25", ...HELLO }));
  return {
    ask,
    [Symbol.asyncDispose]: async () => {
      await relay.close(GRACE);
      await client[Symbol.asyncDispose]();
    },
  };
}

/** A gateway with its socket. */
async function openGateway(
  opened: AsyncDisposableStack,
): Promise<Awaited<ReturnType<typeof openToolsApp>> & { readonly socket: AsyncDisposable }> {
  const app = await openToolsApp();
  opened.use(app.tools);
  const server = await openHttpServer(app.app, { sources: gatewaySources(app.tools.offer) });
  opened.defer(() => server.close(0));
  const socket = await openGatewaySocket(app.app, {
    id: crypto.randomUUID(),
    door: server.mcpDoor,
    env: process.env,
    servers: () => [],
    grace: GRACE,
  });
  return { ...app, socket };
}

const callBy =
  (ask: Ask): CallTool =>
  async (name, args) =>
    need(await ask("tools/call", { name, arguments: args }));

/** A window that is served by a gateway of the same data folder, and others that come and go. */
export async function mcpThroughRelay(): Promise<FaultRig> {
  const opened = new AsyncDisposableStack();
  const app = await openGateway(opened);
  opened.use(app.socket);
  const { ask } = opened.use(await openWindow(app));
  const another: Step = {
    name: "another window",
    run: async () => {
      await using window = await openWindow(app);
      need(await window.ask("tools/list", {}));
      await callBy(window.ask)("review_list", { repository: app.home.project });
    },
  };
  return new ToolsRig(app, app.tools, opened, callBy(ask), [...mcpSteps(ask), another]);
}

/** A window whose gateway has ended: its own process serves it since. */
export async function mcpAfterTakeover(): Promise<FaultRig> {
  const opened = new AsyncDisposableStack();
  const app = await openGateway(opened);
  const { ask } = opened.use(await openWindow(app));
  await app.socket[Symbol.asyncDispose]();
  const list: Step = { name: "list tools", run: async () => need(await ask("tools/list", {})) };
  return new ToolsRig(app, app.tools, opened, callBy(ask), [list]);
}
