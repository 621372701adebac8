import assert from "node:assert/strict";

import { busCertificates } from "../../src/plugin/bus-certificates.ts";
import { answerOf } from "../../src/protocol/bus/answer.ts";
import { BusClient } from "../../src/protocol/bus/connect.ts";
import { connect } from "../../src/wire/quic/transport.ts";
import type { Credentials } from "../../src/wire/quic/connection.ts";

/** Certificates of a bus, made in its folder where they are not there. */
export function busCredentials(certs: string, name: string): Promise<Credentials> {
  return busCertificates(certs, () => {}).of(name);
}

/** A client that does nothing wrong, and must not notice what others do. */
export class HealthyClient implements AsyncDisposable {
  readonly client: BusClient;

  constructor(addr: string, certs: string) {
    this.client = new BusClient({
      name: "The orchestrator",
      dial: async () =>
        connect(addr, { credentials: await busCredentials(certs, "healthy-client") }),
    });
  }

  /** Calls `echo` without a pause while something else goes on; fails if one call does. */
  async during<T>(work: () => Promise<T>): Promise<T> {
    await this.call();
    const over = new AbortController();
    const calling = (async () => {
      while (!over.signal.aborted) await this.call();
    })();
    calling.catch(() => {});
    try {
      return await work();
    } finally {
      over.abort();
      await calling;
    }
  }

  /** One call, well answered. */
  async call(): Promise<void> {
    const value = { toolName: "echo", arguments: { text: "well" } };
    const answer = await this.client.ask({ case: "toolCall", value }, { timeout: 10_000 });
    const { success, result, errorMessage } = answerOf("It", answer, "toolCall");
    assert.deepEqual([success, result?.text], [true, "well"], errorMessage);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
  }
}
