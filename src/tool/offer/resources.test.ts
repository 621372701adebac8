import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { CannotAsk, type ResourceProvider } from "../tool.ts";
import { Resources } from "./resources.ts";
import { SampleContext } from "../../../test/samples/sample-context.ts";

/** Provides one resource, and keeps what it hears of watchers. */
function provider(uri: string, more: Partial<ResourceProvider> = {}) {
  const heard: string[] = [];
  return {
    heard,
    list: () => [{ uri, name: uri }],
    read: async (asked: string) => (asked === uri ? { contents: [{ uri, text: uri }] } : undefined),
    watch: (watched: string) => void heard.push(`watch ${watched}`),
    unwatch: (watched: string) => void heard.push(`unwatch ${watched}`),
    ...more,
  };
}

const broken: ResourceProvider = {
  list: () => {
    throw new Error("list");
  },
  templates: () => Promise.reject(new Error("templates")),
  read: () => Promise.reject(new Error("read")),
  watch: () => {
    throw new Error("watch");
  },
};

describe("Resources", () => {
  it("lists the resources of all providers, in their order", async () => {
    const resources = new Resources();
    resources.add(provider("a:1"));
    const remove = resources.add(
      provider("b:1", { list: async () => [{ uri: "b:1", name: "b" }] }),
    );
    resources.add(provider("c:1", { templates: () => [{ uriTemplate: "c:{x}", name: "c" }] }));
    const uris = async (): Promise<string[]> => (await resources.list()).map(({ uri }) => uri);
    assert.deepEqual(await uris(), ["a:1", "b:1", "c:1"]);
    assert.deepEqual(await resources.templates(), [{ uriTemplate: "c:{x}", name: "c" }]);
    remove();
    assert.deepEqual(await uris(), ["a:1", "c:1"]);
  });

  it("lists the others if one provider fails, and reports that", async () => {
    const reported: string[] = [];
    const resources = new Resources((event, { error }) => {
      reported.push(`${event}: ${(error as Error).message}`);
    });
    resources.add(broken);
    resources.add(provider("a:1", { templates: () => [{ uriTemplate: "a:{x}", name: "a" }] }));
    assert.deepEqual(await resources.list(), [{ uri: "a:1", name: "a:1" }]);
    assert.deepEqual(await resources.templates(), [{ uriTemplate: "a:{x}", name: "a" }]);
    assert.deepEqual(reported, ["resource.provider: list", "resource.provider: templates"]);
  });

  it("reads from the provider that knows the URI, past one that fails", async () => {
    const resources = new Resources();
    resources.add(broken);
    resources.add(provider("a:1"));
    const context = new SampleContext();
    assert.deepEqual(await resources.read("a:1", context), {
      contents: [{ uri: "a:1", text: "a:1" }],
    });
    await assert.rejects(resources.read("a:2", context), { message: "read" });
  });

  it("reports that no provider knows a URI", async () => {
    const resources = new Resources();
    resources.add(provider("a:1"));
    assert.equal(await resources.read("__proto__", new SampleContext()), undefined);
  });

  it("asks no other provider once one has asked a question, or was stopped", async () => {
    const context = new SampleContext();
    const asking = new Resources();
    const cannot = new CannotAsk({ method: "roots/list" });
    asking.add(provider("a:1", { read: () => Promise.reject(cannot) }));
    asking.add(provider("a:1"));
    await assert.rejects(asking.read("a:1", context), cannot);
    const stopped = new Resources();
    stopped.add(broken);
    stopped.add(provider("a:1"));
    context.abort.abort();
    await assert.rejects(stopped.read("a:1", context), { message: "read" });
  });

  it("notifies providers of the first watcher and the last", () => {
    const resources = new Resources();
    const known = provider("a:1");
    resources.add(known);
    const stopFirst = resources.watch("a:1", () => {});
    const stopSecond = resources.watch("a:1", () => {});
    assert.deepEqual(known.heard, ["watch a:1"]);
    stopFirst();
    stopFirst();
    assert.deepEqual(known.heard, ["watch a:1"]);
    stopSecond();
    assert.deepEqual(known.heard, ["watch a:1", "unwatch a:1"]);
    stopSecond();
    resources.watch("a:1", () => {});
    stopFirst();
    assert.deepEqual(known.heard, ["watch a:1", "unwatch a:1", "watch a:1"]);
  });

  it("tells a provider that is added later what is already watched", () => {
    const resources = new Resources();
    const stop = resources.watch("a:1", () => {});
    const late = provider("a:1");
    resources.add(late);
    assert.deepEqual(late.heard, ["watch a:1"]);
    stop();
    assert.deepEqual(late.heard, ["watch a:1", "unwatch a:1"]);
  });

  it("watches even if one provider cannot", () => {
    const resources = new Resources();
    const well = provider("a:1");
    resources.add(broken);
    resources.add(well);
    resources.watch("a:1", () => {});
    assert.deepEqual(well.heard, ["watch a:1"]);
  });

  it("notifies only the watchers of a resource of its updates", async () => {
    const resources = new Resources();
    const told: string[] = [];
    const stop = resources.watch("a:1", () => told.push("first"));
    resources.watch("a:1", () => told.push("second"));
    resources.watch("b:1", () => told.push("other"));
    resources.updated("a:1");
    resources.updated("a:1");
    resources.updated("c:1");
    await Promise.resolve();
    assert.deepEqual(told, ["first", "second"]);
    stop();
    resources.updated("a:1");
    await Promise.resolve();
    assert.deepEqual(told, ["first", "second", "second"]);
  });

  it("announces providers that are added and removed", async () => {
    const resources = new Resources();
    let told = 0;
    const stop = resources.onChange(() => told++);
    const remove = resources.add(provider("a:1"));
    await Promise.resolve();
    assert.equal(told, 1);
    remove();
    remove();
    await Promise.resolve();
    assert.equal(told, 2);
    stop();
    resources.changed();
    await Promise.resolve();
    assert.equal(told, 2);
  });
});
