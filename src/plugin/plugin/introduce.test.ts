import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { covers } from "../../../test/support/requirement.ts";
import { memoryClient } from "../../../test/support/linked-plugin.ts";
import { FAILURE, failure } from "../../protocol/bus/failure.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import { askForOffer, introduce } from "./known-offer.ts";
import type { PluginSettings } from "./settings.ts";

const SETTINGS: PluginSettings = {
  ...{ id: "sample", binary: "sample", args: [], env: {}, config: { color: "red" } },
  ...{ providesStorage: [], providesAi: [], dependsOn: [] },
};
const READY: BusHandlers = {
  register: () => ({ case: "register", value: { accepted: true } }),
  boot: () => ({ case: "boot", value: { ready: true } }),
  listTools: () => ({ case: "listTools", value: { tools: [] } }),
  listPrompts: () => ({ case: "listPrompts", value: { prompts: [] } }),
};

const tool = (name: string, size = 10) => ({
  name,
  inputSchema: { description: "x".repeat(size) },
});

async function introduced(handlers: BusHandlers) {
  await using client = memoryClient({ ...READY, ...handlers });
  await introduce(client, SETTINGS, 10_000, new AbortController().signal);
  return await askForOffer(client, SETTINGS.id, 10_000, new AbortController().signal);
}

function offering(tools: ReturnType<typeof tool>[]): BusHandlers {
  return { listTools: () => ({ case: "listTools", value: { tools } }) };
}

describe("introduce()", () => {
  it("waits no longer for a plugin that is no longer wanted", async () => {
    const stopper = new AbortController();
    const hangs = (): Promise<undefined> => {
      stopper.abort(new Error("It was removed"));
      return new Promise(() => {});
    };
    await using client = memoryClient({ ...READY, boot: hangs });
    await assert.rejects(
      introduce(client, SETTINGS, 600_000, stopper.signal),
      /^Error: It was removed$/,
    );
  });

  it("registers the plugin, boots it with its configuration, and reads its offer", async () => {
    covers("bus.spawn.introduction");
    const said: unknown[] = [];
    const offer = await introduced({
      register: ({ id }) => {
        said.push(id);
        return { case: "register", value: { accepted: true } };
      },
      boot: ({ config }) => {
        said.push(config);
        return { case: "boot", value: { ready: true } };
      },
      ...offering([tool("a"), tool("b", 50_000)]),
      listPrompts: () => ({ case: "listPrompts", value: { prompts: [{ name: "c" }] } }),
    });
    assert.deepEqual(said, ["sample", { color: "red" }]);
    assert.deepEqual([offer.tools.length, offer.prompts.length, offer.leftOut], [2, 1, []]);
  });

  it("reports why a plugin refuses to register or to boot, in limited length", async () => {
    const long = "x".repeat(5_000);
    await assert.rejects(
      introduced({
        register: () => ({ case: "register", value: { accepted: false, rejectReason: long } }),
      }),
      ({ message }: Error) => message === `It refused to be registered: ${"x".repeat(1_000)}`,
    );
    await assert.rejects(introduced({ boot: () => ({ case: "boot", value: { ready: false } }) }), {
      code: "unavailable",
      message: "It could not boot: no reason given",
    });
  });

  it("accepts a plugin that does not support prompts", async () => {
    const value = failure(FAILURE.unknownRequest, "unrecognized request type");
    const offer = await introduced({ listPrompts: () => ({ case: "toolCall", value }) });
    assert.deepEqual(offer.prompts, []);
  });

  it("leaves out a tool that is too long, and names it", async () => {
    const offer = await introduced(offering([tool("a"), tool("huge", 200_000), tool("b")]));
    assert.deepEqual(
      offer.tools.map(({ name }) => name),
      ["a", "b"],
    );
    assert.deepEqual(offer.leftOut, ["huge"]);
  });

  it("leaves out tools that exceed the total", async () => {
    const many = await introduced(
      offering(Array.from({ length: 1_500 }, (_, index) => tool(`t${index}`))),
    );
    assert.deepEqual([many.tools.length, many.leftOut.length], [1_000, 500]);
    const large = await introduced(
      offering(Array.from({ length: 30 }, (_, index) => tool(`t${index}`, 100_000))),
    );
    assert.deepEqual([large.tools.length, large.leftOut.length], [10, 20]);
  });
});
