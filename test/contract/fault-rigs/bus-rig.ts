import assert from "node:assert/strict";

import { busPlan, openBus } from "../../../src/plugin/open/bus.ts";
import { openAudit } from "../../../src/app/tool/toolbox-parts.ts";
import { busCertificates } from "../../../src/plugin/bus-certificates.ts";
import { type BusRequest, BusClient } from "../../../src/protocol/bus/connect.ts";
import type { PluginResponse } from "../../../src/protocol/bus/plugin.gen.ts";
import { Offer } from "../../../src/tool/offer/offer.ts";
import { textResult } from "../../../src/tool/tool.ts";
import { connect } from "../../../src/wire/quic/transport.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";
import { faultApp } from "./fault-app.ts";

/** Documents of both kinds, and a call that is put on record. */
export async function bus(): Promise<FaultRig> {
  const { home, app } = await faultApp({ bus: { listen: "tls://localhost:0" } });
  const { config, log } = app;
  const opened = new AsyncDisposableStack();
  opened.use(home);
  const offer = new Offer({ audit: opened.use(openAudit(app)) });
  offer.tools.add({
    definition: { name: "say", inputSchema: { type: "object" } },
    call: () => textResult("said"),
  });
  const plan = busPlan(config);
  const orchestrator = opened.use(await openBus(plan, { offer, log, data: config.data }));
  // Certificates are made before any disk fails: without them nobody is let in.
  const certificates = busCertificates(plan.certsDir, () => {});
  const credentials = await certificates.of("transport.test-client");
  const client = opened.use(
    new BusClient({
      name: "The bus",
      dial: async () => connect(orchestrator.address, { credentials }),
    }),
  );
  const documents = new Documents(client);
  return {
    folder: home.data,
    steps: [
      ...documents.steps("markdown"),
      {
        name: "call a tool",
        run: async () => {
          const value = { toolName: "say" };
          const { response } = await client.ask({ case: "toolCall", value });
          assert.equal(response.case, "toolCall");
        },
      },
    ],
    verify: () => documents.verify(),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** What a plugin keeps. */
class Documents {
  readonly #client: BusClient;
  /** The last content of each path that was acknowledged, and the version it then had. */
  readonly #kept = new Map<string, { readonly text: string; readonly version: bigint }>();
  #count = 0;

  constructor(client: BusClient) {
    this.#client = client;
  }

  steps(storageType: string): Step[] {
    const path = "notes/a.md";
    const key = `${storageType} ${path}`;
    return [
      {
        name: `write to ${storageType}`,
        run: async () => {
          const text = `text ${++this.#count}`;
          const value = { path, content: Buffer.from(text), expectedVersion: -1n, storageType };
          const { success, newVersion, error } = await this.#ask("storageWrite", value);
          if (!success) throw new Error(error);
          this.#kept.set(key, { text, version: newVersion });
        },
      },
      { name: `read from ${storageType}`, run: () => this.#check(storageType, path) },
      {
        name: `list ${storageType}`,
        run: () => this.#ask("storageList", { prefix: "notes", storageType }),
      },
      {
        name: `delete from ${storageType}`,
        run: async () => {
          const other = { path: "notes/b.md", storageType };
          const content = Buffer.from("b");
          const written = { ...other, content, expectedVersion: -1n };
          const { success, error } = await this.#ask("storageWrite", written);
          if (!success) throw new Error(error);
          const deleted = await this.#ask("storageDelete", other);
          if (!deleted.success) throw new Error("it was not deleted");
        },
      },
    ];
  }

  async verify(): Promise<void> {
    for (const key of this.#kept.keys()) {
      const [storageType = "", path = ""] = key.split(" ");
      await this.#check(storageType, path);
    }
  }

  /** What was acknowledged last is there, or what was written over it without a word. */
  async #check(storageType: string, path: string): Promise<void> {
    const { content, version } = await this.#ask("storageRead", { path, storageType });
    const kept = this.#kept.get(`${storageType} ${path}`);
    if (kept === undefined || version > kept.version) return;
    assert.equal(Buffer.from(content).toString(), kept.text);
  }

  async #ask<K extends BusRequest["case"]>(
    kind: K,
    value: Extract<BusRequest, { case: K }>["value"],
  ): Promise<Extract<PluginResponse["response"], { case: K }>["value"]> {
    const { response } = await this.#client.ask({ case: kind, value } as BusRequest);
    if (response.case === kind) return response.value as never;
    const { errorMessage = "no answer" } = (response.value ?? {}) as { errorMessage?: string };
    throw new Error(errorMessage);
  }
}
