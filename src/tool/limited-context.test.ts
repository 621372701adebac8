import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it, mock } from "node:test";

import { LimitedContext } from "./limited-context.ts";
import { SampleContext } from "../../test/samples/sample-context.ts";

function limited(context = new SampleContext()) {
  return { context, limited: new LimitedContext("slow", 1000, context) };
}

describe("LimitedContext", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setTimeout"] }));
  afterEach(() => mock.timers.reset());

  it("is aborted after a time without progress", async () => {
    const { limited: context } = limited();
    mock.timers.tick(999);
    assert.equal(context.signal.aborted, false);
    mock.timers.tick(1);
    assert.equal(context.signal.aborted, true);
    const error = { code: "timeout", message: "'slow' took over 1000 ms without progress" };
    await assert.rejects(context.over, error);
  });

  it("counts from the last progress, which reaches the caller", () => {
    const { context, limited: given } = limited();
    for (let step = 1; step <= 5; step++) {
      mock.timers.tick(900);
      given.progress(step, 5, "going on");
    }
    assert.equal(given.signal.aborted, false);
    assert.deepEqual(context.told.at(-1), { done: 5, total: 5, message: "going on" });
    mock.timers.tick(1000);
    assert.equal(given.signal.aborted, true);
  });

  it("pauses while a person is asked, and starts again afterwards", async () => {
    const persons = [Promise.withResolvers<unknown>(), Promise.withResolvers<unknown>()];
    let questions = 0;
    const answer = (): unknown => persons[questions++]?.promise;
    const { limited: given } = limited(new SampleContext({ answer }));
    const first = given.ask({ method: "elicitation/create" });
    const second = given.ask({ method: "elicitation/create" });
    mock.timers.tick(100_000);
    given.progress(1);
    persons[1]?.resolve("second");
    assert.equal(await second, "second");
    mock.timers.tick(100_000);
    assert.equal(given.signal.aborted, false);
    persons[0]?.reject(new Error("gone"));
    await assert.rejects(first, { message: "gone" });
    mock.timers.tick(999);
    assert.equal(given.signal.aborted, false);
    mock.timers.tick(1);
    assert.equal(given.signal.aborted, true);
  });

  it("is aborted with its caller, with the same reason", async () => {
    const { context, limited: given } = limited();
    const enough = new Error("enough");
    context.abort.abort(enough);
    assert.equal(given.signal.reason, enough);
    await assert.rejects(given.over, enough);
  });

  it("is aborted from the start if its caller is", async () => {
    const context = new SampleContext();
    context.abort.abort();
    await assert.rejects(limited(context).limited.over, { name: "AbortError" });
  });

  it("does not count after its end, also if a question outlives it", async () => {
    const person = Promise.withResolvers<unknown>();
    const { limited: given } = limited(new SampleContext({ answer: () => person.promise }));
    const asked = given.ask({ method: "elicitation/create" });
    given[Symbol.dispose]();
    person.resolve({});
    await asked;
    mock.timers.tick(10_000);
    assert.equal(given.signal.aborted, false);
  });

  it("behaves like the caller otherwise", async () => {
    const { context, limited: given } = limited(
      new SampleContext({ session: "s-1", folder: "/srv", answer: ({ method }) => method }),
    );
    const { session, folder, caller, meta } = given;
    assert.deepEqual({ session, folder }, { session: "s-1", folder: "/srv" });
    assert.equal(caller, context.caller);
    assert.equal(meta, context.meta);
    given.log("info", "hello");
    assert.deepEqual(context.told, [{ level: "info", data: "hello" }]);
    assert.equal(given.canAsk({ method: "roots/list" }), true);
    assert.equal(await given.ask({ method: "roots/list" }), "roots/list");
  });
});
