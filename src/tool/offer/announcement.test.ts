import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { Announcement } from "./announcement.ts";

const turn = (): Promise<void> => Promise.resolve();

describe("Announcement", () => {
  it("tells once of all the changes of one turn, after them", async () => {
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

  it("tells the others when one of them throws", async () => {
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

  it("does not tell one that another has stopped, nor one that has just come", async () => {
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

  it("counts a function that listens twice as two", async () => {
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
