import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { memoryClient } from "../../../test/support/linked-plugin.ts";
import { until } from "../../../test/support/until.ts";
import { Log } from "../../base/log.ts";
import type { BusHandlers } from "../../protocol/bus/serve.ts";
import { KnownOffer } from "./known-offer.ts";

/** A plugin with one tool, whose name is told by a function. */
function setUp(name: () => string | Promise<string>) {
  const handlers: BusHandlers = {
    listTools: async () => ({ case: "listTools", value: { tools: [{ name: await name() }] } }),
    listPrompts: () => ({ case: "listPrompts", value: { prompts: [] } }),
  };
  const control = memoryClient(handlers);
  const plugin = { link: { control } as { control: typeof control } | undefined, changes: 0 };
  const offer = new KnownOffer(undefined, {
    ...{
      id: "sample",
      log: new Log("error", assert.fail),
      timeout: 10_000,
      signal: new AbortController().signal,
    },
    link: () => plugin.link,
    changed: () => plugin.changes++,
  });
  const names = (): unknown => offer.current?.tools.map((tool) => tool.name);
  return { plugin, offer, names, [Symbol.asyncDispose]: () => control[Symbol.asyncDispose]() };
}

describe("KnownOffer", () => {
  it("is asked for again when the plugin registers, also while it is being asked", async () => {
    let asked = 0;
    await using all = setUp(() => {
      asked++;
      // Several at once are one.
      if (asked === 1) for (let more = 0; more < 5; more++) all.offer.outdated();
      return `tool${asked}`;
    });
    all.offer.outdated();
    await until(() => all.plugin.changes === 2);
    assert.deepEqual([asked, all.names()], [2, ["tool2"]]);
  });

  it("is asked for once the plugin is up, if it registered after it was asked", async () => {
    await using all = setUp(() => "a");
    const { link } = all.plugin;
    assert.ok(link);
    all.plugin.link = undefined;
    all.offer.outdated();
    await all.offer.ask(link);
    all.plugin.link = link;
    all.offer.isUp();
    assert.equal(all.plugin.changes, 0);
    all.plugin.link = undefined;
    all.offer.outdated();
    all.plugin.link = link;
    all.offer.isUp();
    await until(() => all.plugin.changes === 1);
  });

  it("changes now and then for a plugin that registers all the time", async () => {
    await using all = setUp(() => {
      all.offer.outdated();
      return "a";
    });
    const began = performance.now();
    all.offer.outdated();
    await until(() => all.plugin.changes > 2);
    all.plugin.link = undefined;
    assert.ok(performance.now() - began >= 390, "two pauses of 200 ms");
  });

  it("is not that of a process which has been replaced meanwhile", async () => {
    const answer = Promise.withResolvers<string>();
    const asked = Promise.withResolvers<void>();
    await using all = setUp(() => {
      asked.resolve();
      return answer.promise;
    });
    all.offer.outdated();
    await asked.promise;
    all.plugin.link = undefined;
    answer.resolve("old");
    await new Promise((resolve) => setTimeout(resolve, 50));
    assert.deepEqual([all.plugin.changes, all.names()], [0, undefined]);
  });
});
