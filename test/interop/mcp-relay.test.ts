import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { McpWindow, WindowPlace } from "../support/mcp-window.ts";

/** How often a window was told that a list has changed. */
function changesOf({ messages }: McpWindow): number {
  return messages.filter(({ method }) => method?.endsWith("list_changed")).length;
}

describe("`trunkline mcp`, when `trunkline serve` ends or differs", { timeout: 600_000 }, () => {
  it("goes on as the server when the gateway is killed: every call is answered once", async () => {
    using place = new WindowPlace();
    const gateway = await place.serve();
    await using all = new AsyncDisposableStack();
    const windows = await Promise.all([1, 2, 3].map(() => McpWindow.open(place)));
    for (const window of windows) all.use(window);
    for (const window of windows) await window.ask("tools/list");
    const calls = windows.map((window, line) => ({
      window,
      append: window.call("append", { line }),
      look: window.call("look", { line }),
    }));
    await place.untilNoted("append", 3);
    await place.untilNoted("look", 3);
    const changes = windows.map(changesOf);
    gateway.program.child.kill("SIGKILL");
    place.go();
    for (const { window, append, look } of calls) {
      assert.match(await window.textOf(append), /^The gateway .* It is unknown whether 'append'/);
      assert.match(await window.textOf(look), /^looked/);
      assert.match(await window.textOf(window.call("count")), /^\d+ 1$/);
      const answered = window.messages.filter(({ method }) => method === undefined);
      assert.equal(new Set(answered.map(({ id }) => id)).size, answered.length);
    }
    assert.deepEqual(windows.map(changesOf), changes, "the same is offered");
    assert.equal(place.noted("append"), 3);
    await gateway.program.exit;
    await gateway.program[Symbol.asyncDispose]();
  });

  it("takes over from a gateway that stops, and answers what it is busy with once", async () => {
    using place = new WindowPlace();
    const gateway = await place.serve();
    await using window = await McpWindow.open(place);
    const append = window.call("append", { line: 1 });
    await place.untilNoted("append", 1);
    gateway.program.child.kill("SIGTERM");
    const count = window.call("count");
    place.go();
    // The gateway has half a second for it, which may be too little on a busy machine.
    assert.match(await window.textOf(append), /^(?:appended 1|The gateway .*'append')/);
    assert.match(await window.textOf(count), /^\d+ 1$/);
    await gateway[Symbol.asyncDispose]();
    assert.equal(await window.close(), 0);
  });

  it("serves itself with another configuration or environment", async () => {
    using place = new WindowPlace();
    await using _gateway = await place.serve();
    {
      await using window = await McpWindow.open(place, { env: { GIT_AUTHOR_NAME: "Ann" } });
      await window.textOf(window.call("count"));
      await window.program.says(/The gateway has another GIT_AUTHOR_NAME/);
    }
    place.configure({ review: { lease: 61 } });
    await using window = await McpWindow.open(place);
    await window.ask("ping");
    await window.program.says(/The gateway has another configuration/);
  });
});
