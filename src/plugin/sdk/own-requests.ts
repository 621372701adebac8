import { Slots } from "../../base/limit/slots.ts";
import type { Asked, AskOptions, BusClient } from "../../protocol/bus/connect.ts";
import type { PluginResponse } from "../../protocol/bus/plugin.gen.ts";

/** What one handler may ask the orchestrator at once; more wait. */
const AT_ONCE = 8;

/**
 * What one handler asks the orchestrator. A handler that asks for a thousand things at once waits for
 * its own answers, and never for those of another: that one may wait for this handler's end.
 */
export class OwnRequests implements Pick<BusClient, "ask"> {
  readonly #client: BusClient;
  readonly #slots = new Slots(AT_ONCE);

  constructor(client: BusClient) {
    this.#client = client;
  }

  async ask(request: Asked, options: AskOptions = {}): Promise<PluginResponse> {
    const entering = this.#slots.take(options.stop);
    if (entering !== undefined) await entering;
    try {
      return await this.#client.ask(request, options);
    } finally {
      this.#slots.leave();
    }
  }
}
