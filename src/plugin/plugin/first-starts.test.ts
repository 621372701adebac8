import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import { PluginManifestSchema } from "../../protocol/bus/plugin.gen.ts";
import { type FirstStarts, firstStarts } from "./first-starts.ts";

type Started = ReturnType<Parameters<typeof firstStarts>[0]["plugins"]>[number];

const LONG = 600_000;
const OFFER = { tools: [], prompts: [], leftOut: [] };

/** A plugin that is being started until it is said to be up, or to have failed. */
class Starting implements Started {
  readonly id: string;
  readonly firstStart = performance.now();
  offer: Started["offer"];
  state: Started["state"] = "starting";
  readonly #started = Promise.withResolvers<void>();

  constructor(id: string) {
    this.id = id;
    this.#started.promise.catch(() => {});
  }

  start(): Promise<void> {
    return this.#started.promise;
  }

  isUp(): void {
    this.offer = OFFER;
    this.state = "up";
    this.#started.resolve();
  }

  hasFailed(): void {
    this.state = "waiting";
    this.#started.reject(new Error("It ended"));
  }
}

function watch(plugins: readonly Started[], patience = LONG): FirstStarts {
  const manifestOf = (id: string) =>
    id === "known" ? create(PluginManifestSchema, { providesTools: ["its_tool"] }) : undefined;
  return firstStarts({ plugins: () => plugins, manifestOf, patience });
}

describe("firstStarts()", { timeout: 30_000 }, () => {
  it("makes a list wait for all starting plugins, whether they succeed or fail", async () => {
    const [first, second] = [new Starting("a"), new Starting("b")];
    const known = watch([first, second]).known();
    let isOver = false;
    void known?.then(() => (isOver = true));
    first.isUp();
    await new Promise(setImmediate);
    assert.equal(isOver, false);
    second.hasFailed();
    await known;
  });

  it("makes a list wait for none that is known, has failed, or takes too long", async () => {
    const [up, failed] = [new Starting("up"), new Starting("failed")];
    up.isUp();
    failed.hasFailed();
    assert.equal(watch([up, failed]).known(), undefined);
    assert.equal(watch([new Starting("slow")], 0).known(), undefined);
    await watch([new Starting("slow")], 20).known();
  });

  it("makes a call wait only for plugins that may have its tool", async () => {
    const [known, stranger] = [new Starting("known"), new Starting("stranger")];
    const starts = watch([known, stranger]);
    assert.deepEqual(
      starts.mayHave("other").map(({ id }) => id),
      ["stranger"],
    );
    assert.equal(starts.mayHave("its_tool").length, 2);
    stranger.hasFailed();
    await starts.tool("other", () => false);
    let hasTool = false;
    const called = starts.tool("its_tool", () => hasTool);
    hasTool = true;
    known.isUp();
    await called;
  });

  it("limits how long a call waits", async () => {
    await watch([new Starting("never")], 10).tool("any", () => false);
  });
});
