import { busCertificates } from "../bus-certificates.ts";
import type { PluginStatus } from "../plugin/plugin.ts";
import { CONTROL_NAME, expectOrchestrator } from "../guests.ts";
import { CONTROL } from "../serve/serve-control.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import { BusClient } from "../../protocol/bus/connect.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Arguments, ToolResult } from "../../tool/tool.ts";
import { LOCK } from "../plugin/plugin-folder.ts";
import { type RunningBus, runningBuses } from "../running-buses.ts";
import { formatAddress, parseAddress } from "../../wire/quic/address.ts";
import { busFolder, busPlan, busTransport } from "./bus.ts";
import type { AppContext } from "../../config/app-context.ts";

export interface BusControlOptions {
  readonly address: string | undefined;
  readonly certsDir: string | undefined;
}

export type BusControl = Awaited<ReturnType<typeof openBusControl>>;

/** `trunkline plugin`: a client of an orchestrator that runs. */
export async function openBusControl(app: AppContext, options: BusControlOptions) {
  const found = options.address === undefined ? ownBus(app) : undefined;
  const plan = busPlan(app.config);
  const { address = found?.address ?? plan.listen } = options;
  const { certsDir = found?.certsDir ?? plan.certsDir } = options;
  // An invalid address is wrong usage, whether or not an orchestrator runs.
  parseAddress(address);
  const warn = (message: string): void => app.log.warn("bus.certificates", { message });
  const certificates = busCertificates(certsDir, warn, { makesAuthority: false });
  const transport = await busTransport();
  const name = `The bus at ${address}`;
  const client = new BusClient({
    name,
    dial: async (signal) => {
      const credentials = await certificates.of(CONTROL_NAME);
      return expectOrchestrator(await transport.connect(address, { credentials, signal }));
    },
  });
  try {
    await client.connect();
  } catch (error) {
    await client[Symbol.asyncDispose]();
    const { message } = error as Error;
    if (error instanceof TrunklineError && error.code === "config") {
      throw new TrunklineError("config", `${name} cannot be reached. ${message}`);
    }
    const how = "Run `trunkline orchestrator`, or give --orchestrator-addr and --certs-dir.";
    throw new TrunklineError("unavailable", `${message} ${how}`);
  }
  const callTool = async (tool: string, args: Arguments, project?: string) => {
    const value = toToolRequest({ name: tool, args, caller: CONTROL_NAME, project });
    return answerOf(name, await client.ask({ case: "toolCall", value }), "toolCall");
  };
  const control = async (tool: string, args: Arguments = {}): Promise<unknown> => {
    const { success, result, errorCode, errorMessage } = await callTool(tool, args);
    if (success) return result;
    if (errorCode === "tool_not_found" && errorMessage.includes(tool)) {
      const why = "is another program's orchestrator, which cannot be looked after from here";
      throw new TrunklineError("unavailable", `${name} ${why}.`);
    }
    throw new TrunklineError("unavailable", errorMessage || errorCode);
  };
  return {
    list: async () => ((await control(CONTROL.list)) as { plugins: PluginStatus[] }).plugins,
    logs: async (id: string) =>
      ((await control(CONTROL.logs, { id })) as { lines: string[] }).lines,
    restart: async (id: string) =>
      ((await control(CONTROL.restart, { id })) as { plugin: PluginStatus }).plugin,
    /** Calls a tool, in a project's folder where one is given. */
    call: async (tool: string, args: Arguments, project?: string): Promise<ToolResult> =>
      fromToolResponse(await callTool(tool, args, project)),
    [Symbol.asyncDispose]: () => client[Symbol.asyncDispose](),
  };
}

/**
 * The bus that runs on the data folder: the configured one, or else the newest, such as that of a
 * `trunkline mcp` with plugins of its own. Undefined where none runs and the configuration names an
 * address with a port, which may be that of a bus on another data folder.
 */
function ownBus({ config }: AppContext): RunningBus | undefined {
  const { listen } = config.bus;
  const running = runningBuses(busFolder(config.data), LOCK);
  const isConfigured = ({ address }: RunningBus): boolean => {
    return listen !== undefined && formatAddress(parseAddress(listen)) === address;
  };
  const bus = running.find(isConfigured) ?? running[0];
  if (bus !== undefined) return bus;
  // Port 0 is replaced by a free one, which only the running bus knows.
  if (listen !== undefined && parseAddress(listen).port !== 0) return undefined;
  const how =
    "Run `trunkline serve` with plugins in its configuration, or `trunkline orchestrator`; " +
    "--orchestrator-addr and --certs-dir name one elsewhere";
  throw new TrunklineError(
    "unavailable",
    `No bus runs with the data folder '${config.data}'. ${how}.`,
  );
}
