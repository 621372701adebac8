import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Announcement, Registry } from "./registry.ts";

describe("Registry", () => {
  it("lists in the order of adding, and builds the list once for each change", () => {
    const registry = new Registry<number>("number");
    registry.add("two", 2);
    registry.add("one", 1);
    const list = registry.list();
    assert.deepEqual(list, [2, 1]);
    assert.equal(registry.list(), list);
    registry.add("three", 3);
    assert.deepEqual(registry.list(), [2, 1, 3]);
    assert.deepEqual(list, [2, 1]);
  });

  it("refuses a name that is taken, and says by what", () => {
    const registry = new Registry<number>("tool");
    registry.add("echo", 1);
    assert.throws(() => registry.add("echo", 2), { message: "There is a tool 'echo' already" });
    assert.equal(registry.get("echo"), 1);
  });

  for (const name of ["__proto__", "constructor", "toString", ""]) {
    it(`has '${name}' only once it is added`, () => {
      const registry = new Registry<number>("tool");
      assert.equal(registry.get(name), undefined);
      registry.add(name, 1);
      assert.equal(registry.get(name), 1);
      assert.deepEqual(registry.list(), [1]);
    });
  }

  it("removes only its own entry, however often it is called", () => {
    const registry = new Registry<number>("tool");
    const remove = registry.add("echo", 1);
    remove();
    registry.add("echo", 2);
    remove();
    assert.equal(registry.get("echo"), 2);
  });

  it("announces all changes of one turn once, and not the removal of a missing entry", async () => {
    const registry = new Registry<number>("tool");
    let told = 0;
    const stop = registry.onChange(() => told++);
    const remove = registry.add("a", 1);
    registry.add("b", 2);
    await Promise.resolve();
    assert.equal(told, 1);
    remove();
    await Promise.resolve();
    assert.equal(told, 2);
    remove();
    await Promise.resolve();
    assert.equal(told, 2);
    stop();
    registry.add("c", 3);
    await Promise.resolve();
    assert.equal(told, 2);
  });
});

const turn = (): Promise<void> => Promise.resolve();

describe("Announcement", () => {
  it("announces all changes of one turn once, after them", async () => {
    const announcement = new Announcement();
    let told = 0;
    announcement.on(() => told++);
    announcement.make();
    announcement.make();
    assert.equal(told, 0);
    await turn();
    assert.equal(told, 1);
    announcement.make();
    await turn();
    assert.equal(told, 2);
  });

  it("notifies the others if one listener throws", async () => {
    const failures: unknown[] = [];
    const announcement = new Announcement((error) => failures.push(error));
    const fault = new Error("listener");
    let told = 0;
    announcement.on(() => {
      throw fault;
    });
    announcement.on(() => told++);
    announcement.make();
    await turn();
    assert.equal(told, 1);
    assert.deepEqual(failures, [fault]);
  });

  it("does not notify a listener that another has stopped, nor one that was just added", async () => {
    const announcement = new Announcement();
    const told: string[] = [];
    announcement.on(() => {
      stop();
      announcement.on(() => told.push("late"));
    });
    const stop = announcement.on(() => told.push("stopped"));
    announcement.make();
    await turn();
    assert.deepEqual(told, []);
  });

  it("counts a function that is added twice as two listeners", async () => {
    const announcement = new Announcement();
    let told = 0;
    const listener = (): void => void told++;
    const stop = announcement.on(listener);
    announcement.on(listener);
    stop();
    stop();
    announcement.make();
    await turn();
    assert.equal(told, 1);
  });
});
