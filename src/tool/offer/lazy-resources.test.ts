import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Resources } from "./resources.ts";
import type { ResourceProvider } from "../tool.ts";
import { LazyResources } from "./lazy-resources.ts";

class Rig {
  readonly watched: string[] = [];
  readonly real: ResourceProvider = {
    list: () => [{ uri: "x:1", name: "one" }],
    read: async (uri) => ({ contents: [{ uri, text: "1" }] }),
    watch: (uri) => void this.watched.push(`+${uri}`),
    unwatch: (uri) => void this.watched.push(`-${uri}`),
  };
  readonly gate = Promise.withResolvers<void>();
  readonly lazy = new LazyResources(() => this.gate.promise, new Resources(() => {}));

  open(): void {
    this.lazy.become(this.real);
    this.gate.resolve();
  }
}

describe("LazyResources", () => {
  it("opens the servers for a reader, and returns their answer", async () => {
    const rig = new Rig();
    const listed = rig.lazy.list();
    const read = rig.lazy.read("x:1", {} as never);
    rig.open();
    assert.deepEqual(await listed, [{ uri: "x:1", name: "one" }]);
    assert.deepEqual(await read, { contents: [{ uri: "x:1", text: "1" }] });
    assert.deepEqual(await rig.lazy.templates(), []);
    assert.equal(await rig.lazy.complete("x:{n}", { name: "n", value: "" }), undefined);
  });

  it("watches once they are open, unless the watch has ended by then", async () => {
    const rig = new Rig();
    rig.lazy.watch("x:1");
    rig.lazy.watch("x:2");
    rig.lazy.unwatch("x:2");
    assert.deepEqual(rig.watched, []);
    rig.open();
    await rig.lazy.list();
    assert.deepEqual(rig.watched, ["+x:1"]);
    rig.lazy.unwatch("x:1");
    assert.deepEqual(rig.watched, ["+x:1", "-x:1"]);
  });

  it("fails for a reader, but not for a watcher, if they cannot be opened", async () => {
    const rig = new Rig();
    rig.lazy.watch("x:1");
    rig.gate.reject(new Error("it does not start"));
    await assert.rejects(async () => rig.lazy.list(), /it does not start/);
  });
});
