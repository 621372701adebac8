import { background } from "../../base/background.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import { HealthResult_Status as Status } from "../../protocol/bus/plugin.gen.ts";
import { LONGEST_REASON, SHORT_ANSWER } from "./known-offer.ts";
import type { PluginLimits } from "./settings.ts";

/** Sends health checks to a running plugin at intervals, and gives it up after several failures. */
export class HealthCheck {
  readonly #client: Pick<BusClient, "ask">;
  readonly #limits: PluginLimits;
  readonly #givenUp: (why: string) => void;
  readonly #timer: NodeJS.Timeout;
  #failures = 0;
  #isAsking = false;
  #last: string | undefined;

  /** `givenUp` is called once, with the reason. */
  constructor(
    client: Pick<BusClient, "ask">,
    limits: PluginLimits,
    givenUp: (why: string) => void,
  ) {
    this.#client = client;
    this.#limits = limits;
    this.#givenUp = givenUp;
    this.#timer = setInterval(
      () => background(this.#look(), "Checking the health of a plugin"),
      limits.healthEvery,
    ).unref();
  }

  /** Its last answer. */
  get last(): string | undefined {
    return this.#last;
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    const why = await this.#ask();
    this.#isAsking = false;
    this.#failures = why === undefined ? 0 : this.#failures + 1;
    if (why === undefined || this.#failures < this.#limits.mostUnhealthy) return;
    this.stop();
    this.#givenUp(why);
  }

  /** Why it is unhealthy; undefined if it is not. */
  async #ask(): Promise<string | undefined> {
    try {
      const asking = { timeout: this.#limits.health, most: SHORT_ANSWER };
      const answer = await this.#client.ask({ case: "health", value: {} }, asking);
      const { status, message: all } = answerOf("It", answer, "health");
      const message = all.slice(0, LONGEST_REASON);
      this.#last = [NAMES[status] ?? "unknown", message].filter((part) => part !== "").join(": ");
      return status === Status.UNHEALTHY ? `It says that it is unhealthy: ${message}` : undefined;
    } catch (error) {
      return `It does not answer: ${(error as Error).message}`;
    }
  }
}

const NAMES: Readonly<Record<number, string>> = {
  [Status.HEALTHY]: "healthy",
  [Status.DEGRADED]: "degraded",
  [Status.UNHEALTHY]: "unhealthy",
};
