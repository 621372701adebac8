import { BusCertificates } from "../../plugin/bus-certificates.ts";
import type { PluginStatus } from "../../plugin/plugin/plugin.ts";
import { CONTROL_NAME, expectOrchestrator } from "../../plugin/guests.ts";
import { CONTROL } from "../../plugin/serve/serve-control.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import { BusClient } from "../../protocol/bus/connect.ts";
import { fromToolResponse } from "../../protocol/bus/shape/tool-result.ts";
import { toToolRequest } from "../../protocol/bus/shape/tool-shape.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Arguments, ToolResult } from "../../tool/tool.ts";
import { parseAddress } from "../../wire/quic/address.ts";
import { busPlan, busTransport } from "./bus.ts";
import type { House } from "../house.ts";

export interface BusControlOptions {
  readonly address: string | undefined;
  readonly certsDir: string | undefined;
}

/** `trunkline plugin`: a client of an orchestrator that runs. */
export class BusControl implements AsyncDisposable {
  readonly #client: BusClient;
  readonly #name: string;

  private constructor(client: BusClient, name: string) {
    this.#client = client;
    this.#name = name;
  }

  static async connect(house: House, options: BusControlOptions): Promise<BusControl> {
    const plan = busPlan(house.config);
    const { address = plan.listen, certsDir = plan.certsDir } = options;
    // An invalid address is wrong usage, whether or not an orchestrator runs.
    parseAddress(address);
    const certificates = new BusCertificates(certsDir, (message) => {
      house.log.warn("bus.certificates", { message });
    });
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
      const how = "Run `trunkline orchestrator`, or give --orchestrator-addr and --certs-dir.";
      throw new TrunklineError("unavailable", `${(error as Error).message} ${how}`);
    }
    return new BusControl(client, name);
  }

  async list(): Promise<PluginStatus[]> {
    return ((await this.#control(CONTROL.list)) as { plugins: PluginStatus[] }).plugins;
  }

  async logs(id: string): Promise<string[]> {
    return ((await this.#control(CONTROL.logs, { id })) as { lines: string[] }).lines;
  }

  async restart(id: string): Promise<PluginStatus> {
    return ((await this.#control(CONTROL.restart, { id })) as { plugin: PluginStatus }).plugin;
  }

  /** Calls a tool, in a project's folder where one is given. */
  async call(name: string, args: Arguments, project?: string): Promise<ToolResult> {
    const value = toToolRequest({ name, args, caller: CONTROL_NAME, project });
    const answer = await this.#client.ask({ case: "toolCall", value });
    return fromToolResponse(answerOf(this.#name, answer, "toolCall"));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
  }

  async #control(tool: string, args: Arguments = {}): Promise<unknown> {
    const value = toToolRequest({ name: tool, args, caller: CONTROL_NAME });
    const answer = await this.#client.ask({ case: "toolCall", value });
    const { success, result, errorCode, errorMessage } = answerOf(this.#name, answer, "toolCall");
    if (success) return result;
    if (errorCode === "tool_not_found" && errorMessage.includes(tool)) {
      const why = "is another program's orchestrator, which cannot be looked after from here";
      throw new TrunklineError("unavailable", `${this.#name} ${why}.`);
    }
    throw new TrunklineError("unavailable", errorMessage || errorCode);
  }
}
