import { BusBeside } from "../gateway/bus-beside.ts";
import { HttpServer } from "../gateway/http-server.ts";
import { repairIdentities } from "../gateway/identities-repair.ts";
import { openData } from "../gateway/open-data.ts";
import { openTools } from "../gateway/open-tools.ts";
import { untilSignal } from "../gateway/signals.ts";
import { VERSION } from "../base/version.ts";
import type { Invocation } from "./command.ts";
import { openHouse } from "./open-house.ts";

/** Whoever pressed Ctrl-C is waiting. */
const STOP_GRACE = 500;

/** `trunkline serve` */
export async function run(invocation: Invocation): Promise<number> {
  const signalled = untilSignal();
  const house = await openHouse(invocation);
  openData(house.config.data);
  await using _repair = repairIdentities(house);
  await using tools = await openTools(house, { isLasting: true, hasOwnBus: true, isShared: true });
  const { config, log, reloading } = house;
  await using bus = new BusBeside({ config, log, reloading, offer: tools.offer });
  if (bus.isWanted) await bus.open();
  const server = await HttpServer.open(house, { offer: tools.offer });
  const url = server.origin;
  if (server.warning !== undefined) invocation.err(`trunkline: warning: ${server.warning}\n`);
  const mcp = `${url}/mcp`;
  const acp = `${url.replace("http", "ws")}/acp`;
  if (invocation.values.json === true) {
    const { pid } = process;
    invocation.out(`${JSON.stringify({ ready: true, url, mcp, acp, pid })}\n`);
  } else {
    invocation.out(welcome(server.publicUrl ?? url, server.needsToken, invocation.color));
  }
  await signalled;
  await server.close(STOP_GRACE);
  return 0;
}

function welcome(url: string, needsToken: boolean, color: boolean): string {
  const mcp = `${url}/mcp`;
  const acp = `${url.replace("http", "ws")}/acp`;
  const header = needsToken ? ` \\\n    --header "Authorization: Bearer TOKEN"` : "";
  const bold = (text: string): string => (color ? `\x1b[1m${text}\x1b[22m` : text);
  return `${bold(`Trunkline ${VERSION} is running.`)}

  MCP      ${mcp}   for assistants
  ACP      ${acp}     for editors
  Status   ${url}/

Next: connect an assistant, for example
  claude mcp add --transport http trunkline ${mcp}${header}
Stop with Ctrl-C.
`;
}
