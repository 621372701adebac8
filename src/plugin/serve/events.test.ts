import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setImmediate as turn } from "node:timers/promises";

import { covers } from "../../../test/support/requirement.ts";
import { type BusEvent, Events, type Subscription } from "./events.ts";

function event(topic: string, payload: BusEvent["payload"] = {}): BusEvent {
  return { topic, type: "changed", payload, source: "tester", time: new Date(0) };
}

class Subscriber {
  readonly got: unknown[] = [];
  hold: Promise<void> | undefined;

  subscription(topic: string, filters: Subscription["filters"] = {}): Subscription {
    return {
      ...{ id: "s-1", topic, filters },
      deliver: async ({ payload }) => {
        this.got.push(payload);
        await this.hold;
      },
    };
  }
}

function events() {
  const reports: [string, Record<string, unknown>][] = [];
  return { bus: new Events((name, fields) => reports.push([name, fields])), reports };
}

describe("Events", () => {
  it("delivers events of exactly the topic, in order", async () => {
    covers("bus.route.events");
    const { bus } = events();
    const subscriber = new Subscriber();
    bus.subscribe("a", subscriber.subscription("notes"));
    for (const n of [1, 2, 3]) bus.publish(event("notes", { n }));
    bus.publish(event("notes.more", { n: 4 }));
    await turn();
    assert.deepEqual(subscriber.got, [{ n: 1 }, { n: 2 }, { n: 3 }]);
  });

  it("leaves out events that do not match the filters, which are compared as text", async () => {
    covers("bus.route.events");
    const { bus } = events();
    const subscriber = new Subscriber();
    bus.subscribe("a", subscriber.subscription("notes", { project: "x", count: "2" }));
    bus.publish(event("notes", { project: "x", count: 2 }));
    bus.publish(event("notes", { project: "y", count: 2 }));
    bus.publish(event("notes", { project: "x" }));
    bus.publish(event("notes", { count: 2 }));
    await turn();
    assert.deepEqual(subscriber.got, [{ project: "x", count: 2 }]);
  });

  it("does not treat an inherited member as one of the payload", async () => {
    const { bus } = events();
    const subscriber = new Subscriber();
    bus.subscribe("a", subscriber.subscription("notes", { toString: "undefined" }));
    bus.publish(event("notes", {}));
    await turn();
    assert.deepEqual(subscriber.got, []);
  });

  it("makes nobody wait for a slow subscriber, who loses the oldest events", async () => {
    const { bus, reports } = events();
    const [slow, quick] = [new Subscriber(), new Subscriber()];
    const held = Promise.withResolvers<void>();
    slow.hold = held.promise;
    bus.subscribe("slow", slow.subscription("notes"));
    bus.subscribe("quick", quick.subscription("notes"));
    for (let n = 0; n < 1_200; n++) {
      bus.publish(event("notes", { n }));
      if (n % 100 === 0) await turn();
    }
    await turn();
    assert.equal(quick.got.length, 1_200);
    assert.equal(slow.got.length, 1);
    held.resolve();
    await turn();
    assert.equal(slow.got.length, 1_001);
    assert.deepEqual(slow.got.at(-1), { n: 1_199 });
    assert.deepEqual(reports, [
      ["bus.events-lost", { owner: "slow", topic: "notes", events: 199 }],
    ]);
  });

  it("continues after a failed delivery, and reports it", async () => {
    const { bus, reports } = events();
    const subscriber = new Subscriber();
    const { deliver, ...rest } = subscriber.subscription("notes");
    let deliveries = 0;
    bus.subscribe("a", {
      ...rest,
      deliver: (one) => {
        if (deliveries++ === 0) throw new Error("gone");
        return deliver(one);
      },
    });
    bus.publish(event("notes", { n: 1 }));
    bus.publish(event("notes", { n: 2 }));
    await turn();
    assert.deepEqual(subscriber.got, [{ n: 2 }]);
    assert.equal(reports[0]?.[0], "bus.event-not-delivered");
  });

  it("keeps one subscription for each id of an owner, and ends one, or all of an owner", async () => {
    const { bus } = events();
    const subscriber = new Subscriber();
    bus.subscribe("a", subscriber.subscription("notes"));
    const end = bus.subscribe("a", subscriber.subscription("notes"));
    bus.subscribe("b", subscriber.subscription("notes"));
    assert.equal(bus.size, 2);
    bus.unsubscribe("b", "s-1");
    end();
    assert.equal(bus.size, 0);
    bus.subscribe("a", subscriber.subscription("notes"));
    bus.forget("b");
    assert.equal(bus.size, 1);
    bus.forget("a");
    bus.publish(event("notes"));
    await turn();
    assert.deepEqual(subscriber.got, []);
  });
});
