import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtempDisposableSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { ModelCache, Models } from "./models.ts";

const KEY = "sk-the-key-that-nobody-may-see-0123456789";

/** A provider that lists its models when it is told to. */
async function provider() {
  const asked = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const server = createServer((_, response) => {
    asked.resolve();
    void gate.promise.then(() => response.end(JSON.stringify({ data: [{ id: "m-1" }] })));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    asked: asked.promise,
    answer: gate.resolve,
    baseUrl: `http://127.0.0.1:${port}/v1`,
    [Symbol.asyncDispose]: async () => {
      gate.resolve();
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function modelsAt(baseUrl: string, cache: ModelCache): Models {
  const providers = { slow: { baseUrl, keyVariable: "SLOW_KEY" } };
  const log = new Log("error", () => {});
  return new Models({ find: () => KEY, settings: { local: false, providers }, log, cache });
}

const ids = (models: Models): string[] =>
  models.list().flatMap(({ id }) => (id.startsWith("slow/") ? [id] : []));

describe("the list of models of last time", () => {
  it("is there at once when a session is opened, before the provider was asked", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-models-"));
    const file = join(folder.path, "models.json");
    const cache = new ModelCache(file);
    await using fast = await provider();
    fast.answer();
    const first = modelsAt(fast.baseUrl, cache);
    await first.refresh();
    assert.doesNotMatch(readFileSync(file, "utf8"), new RegExp(KEY));

    await using slow = await provider();
    writeFileSync(file, readFileSync(file, "utf8").replaceAll(fast.baseUrl, slow.baseUrl));
    const models = modelsAt(slow.baseUrl, new ModelCache(file));
    // Without the cache, opening would wait so long for a provider that does not answer.
    await using rig = new AgentRig({ models, limits: { firstList: 600_000 } });
    const session = await rig.open({ chosen: { modelId: "slow/m-1" } });
    assert.equal(session.settings.models?.currentModelId, "slow/m-1");
    // It is asked afterwards.
    await slow.asked;
  });

  it("does not count for another address of the provider, nor if it is no list", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "trunkline-models-"));
    const file = join(folder.path, "models.json");
    const list = [{ model: "m-1", name: "M", contextWindow: 9_000 }];
    const here = "http://127.0.0.1:1/v1";
    for (const [text, known] of [
      [JSON.stringify({ [`slow ${here}`]: list }), ["slow/m-1"]],
      [JSON.stringify({ "slow http://127.0.0.1:2/v1": list }), []],
      [JSON.stringify({ [`slow ${here}`]: [{ model: 5 }] }), []],
      [JSON.stringify({ [`slow ${here}`]: "x" }), []],
      ["null", []],
      ["{", []],
    ] as const) {
      writeFileSync(file, text);
      const models = modelsAt(here, new ModelCache(file));
      assert.equal(await models.recall(), known.length > 0, text);
      assert.deepEqual(ids(models), known, text);
    }
  });
});
