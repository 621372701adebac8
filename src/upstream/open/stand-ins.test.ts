import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SampleContext } from "../../../test/upstream/sample-context.ts";
import { OWNER } from "../../base/principal.ts";
import { Offer } from "../../tool/offer/offer.ts";
import type { Prompt } from "../../tool/prompt.ts";
import type { ResourceProvider } from "../../tool/resource.ts";
import { textResult, type Tool } from "../../tool/tool.ts";
import type { Remembered } from "./remembered-offer.ts";
import { StandIns } from "./stand-ins.ts";

function toolOf(name: string, answer: string, more: Record<string, unknown> = {}): Tool {
  return {
    definition: { name, inputSchema: { type: "object" }, ...more },
    source: { server: "s", name },
    call: () => textResult(answer),
  };
}

function promptOf(name: string, answer: string): Prompt {
  return { definition: { name }, get: async () => ({ messages: [answer] }) };
}

const RESOURCES: ResourceProvider = {
  list: () => [{ uri: "x:1", name: "one" }],
  templates: () => [{ uriTemplate: "x:{n}", name: "n" }],
  read: async (uri) => ({ contents: [{ uri, text: "1" }] }),
  complete: async () => ({ values: ["1"] }),
};

/** What two starts ago was learned from a server with the tools and prompts of these names. */
function memoryOf(...names: string[]): Remembered {
  return {
    tools: names.map((name) => {
      const { definition, source = { server: "", name } } = toolOf(name, "");
      return { definition, source };
    }),
    prompts: names.map((name) => ({ definition: promptOf(name, "").definition })),
    instructions: [],
  };
}

/** An offer filled from memory, and servers that put `real` there when they are opened. */
function filled(memory: Remembered, real: (standIns: StandIns) => void) {
  const offer = new Offer();
  let opened: Promise<void> | undefined;
  let changes = 0;
  const standIns = new StandIns(offer, () => {
    opened ??= Promise.resolve().then(() => {
      real(standIns);
      standIns.settle();
    });
    return opened;
  });
  assert.ok(standIns.fill(memory));
  const listen = async (): Promise<void> => {
    // What was announced until now is no change to whoever listens from here on.
    await new Promise(setImmediate);
    offer.tools.onChange(() => changes++);
    offer.prompts.onChange(() => changes++);
    offer.resources.onChange(() => changes++);
  };
  const names = () => offer.tools.list().map(({ definition }) => definition.name);
  const call = async (name: string) => {
    return (await offer.tools.call(name, {}, new SampleContext())).content[0]?.text;
  };
  const changed = async (): Promise<number> => {
    await new Promise(setImmediate);
    return changes;
  };
  return { offer, standIns, names, call, listen, changed, isOpen: () => opened !== undefined };
}

describe("StandIns", () => {
  it("offer what is remembered, and open the servers when one is called", async () => {
    const app = filled(memoryOf("a", "b"), ({ tools, prompts }) => {
      for (const name of ["a", "b"]) tools.add(toolOf(name, `real ${name}`));
      for (const name of ["a", "b"]) prompts.add(name, promptOf(name, `real ${name}`));
    });
    await app.listen();
    assert.deepEqual(app.names(), ["a", "b"]);
    assert.equal(app.isOpen(), false);
    assert.equal(await app.call("b"), "real b");
    assert.equal(await app.call("a"), "real a");
    const prompt = app.offer.prompts.get("a");
    assert.deepEqual(await prompt?.get({}, new SampleContext()), { messages: ["real a"] });
    assert.deepEqual(app.names(), ["a", "b"]);
    assert.equal(await app.changed(), 0);
  });

  it("are replaced by what has changed, and removed with what is gone", async () => {
    const app = filled(memoryOf("a", "b", "c"), ({ tools }) => {
      assert.equal(tools.get("a"), undefined, "the name is free for the server");
      tools.add(toolOf("a", "real a"));
      tools.add(toolOf("b", "real b", { description: "other" }));
      tools.add(toolOf("d", "real d"));
    });
    await app.listen();
    assert.equal(await app.call("c"), "'c' is not offered any more");
    assert.deepEqual(app.names().toSorted(), ["a", "b", "d"]);
    assert.equal(app.offer.tools.get("b")?.definition.description, "other");
    assert.equal(await app.call("b"), "real b");
    assert.deepEqual(app.offer.prompts.list(), []);
    assert.ok((await app.changed()) > 0);
  });

  it("are removed by the servers whose own tools replace them", async () => {
    const removes: (() => void)[] = [];
    const app = filled(memoryOf("a"), ({ tools }) => {
      removes.push(tools.add(toolOf("a", "real")));
    });
    assert.equal(await app.call("a"), "real");
    for (const remove of removes) remove();
    assert.deepEqual(app.names(), []);
    app.standIns.tools.add(toolOf("a", "another"));
    assert.equal(await app.call("a"), "another");
  });

  it("tell the caller why the servers could not be opened, and try again", async () => {
    const offer = new Offer();
    let tries = 0;
    const standIns: StandIns = new StandIns(offer, async () => {
      if (++tries === 1) throw new Error("no");
      standIns.tools.add(toolOf("a", "real"));
    });
    standIns.fill(memoryOf("a"));
    const call = () => offer.tools.call("a", {}, new SampleContext());
    assert.equal((await call()).isError, true);
    assert.equal((await call()).content[0]?.text, "real");
  });

  it("read resources from the servers that they open", async () => {
    const app = filled(memoryOf(), ({ resources }) => void resources.add(RESOURCES));
    await app.listen();
    const { resources } = app.offer;
    assert.equal(app.isOpen(), false);
    assert.deepEqual(await resources.list(), [{ uri: "x:1", name: "one" }]);
    assert.deepEqual(await resources.templates(), [{ uriTemplate: "x:{n}", name: "n" }]);
    assert.ok(await resources.read("x:1", new SampleContext()));
    const completion = await resources.complete("x:{n}", { name: "n", value: "" }, OWNER);
    assert.deepEqual(completion, { values: ["1"] });
    assert.equal(await app.changed(), 0);
  });

  it("watch what was watched before the servers were open, unless that has ended", async () => {
    const watched: string[] = [];
    const app = filled(memoryOf(), ({ resources }) => {
      resources.add({ ...RESOURCES, watch: (uri) => void watched.push(uri) });
    });
    app.offer.resources.watch("x:1", () => {});
    app.offer.resources.watch("x:2", () => {})();
    await app.offer.resources.list();
    assert.deepEqual(watched, ["x:1"]);
    app.offer.resources.watch("x:3", () => {});
    await new Promise(setImmediate);
    assert.deepEqual(watched, ["x:1", "x:3"]);
  });

  it("do not replace anything of our own", () => {
    const offer = new Offer();
    offer.tools.add(toolOf("b", "ours"));
    const standIns = new StandIns(offer, async () => {});
    assert.equal(standIns.fill(memoryOf("a", "b")), false);
    assert.equal(offer.tools.list().length, 1);
    assert.equal(offer.prompts.list().length, 0);
  });

  it("remember only what servers offer", () => {
    const offer = new Offer();
    const standIns = new StandIns(offer, async () => {});
    offer.tools.add(toolOf("ours", ""));
    offer.prompts.add("ours", promptOf("ours", ""));
    const remove = standIns.tools.add(toolOf("gone", ""));
    standIns.tools.add({ ...toolOf("a", ""), task: "required" });
    standIns.prompts.add("a", promptOf("a", ""));
    remove();
    const instructions = [{ server: "a", text: "Be kind" }];
    standIns.instructions.replace(instructions);
    const [tool] = memoryOf("a").tools;
    assert.deepEqual(standIns.remember(), {
      tools: [{ ...tool, task: "required" }],
      prompts: [{ definition: { name: "a" } }],
      instructions,
    });
  });
});
