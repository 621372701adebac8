import assert from "node:assert/strict";
import { mkdirSync, readdirSync, rmSync } from "node:fs";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Log } from "../../base/log.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { readinessOf, type ReadinessOptions } from "./readiness.ts";

const LOG = new Log("error", () => {});

async function problemsOf(options: Partial<ReadinessOptions>): Promise<readonly string[]> {
  const all = {
    data: "/nowhere",
    checkStore: async () => {},
    natsProblem: async () => undefined,
    log: LOG,
  };
  return await readinessOf({ ...all, ...options }).problems();
}

describe("readinessOf()", () => {
  it("is there while the store can be written, and leaves nothing in the data folder", async () => {
    await using folder = await SampleFolder.create();
    const data = folder.path;
    await using store = await SessionLog.open(data);
    const checkStore = (): Promise<void> => store.database.change(() => {});
    const before = readdirSync(data);
    assert.deepEqual(await problemsOf({ data, checkStore }), []);
    assert.deepEqual(readdirSync(data), before);
    rmSync(store.database.path);
    assert.deepEqual(await problemsOf({ data, checkStore }), [
      "the session store cannot be written",
    ]);
  });

  it("is not there without a data folder, or without NATS", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(folder.path);
    assert.deepEqual(await problemsOf({}), ["the data folder cannot be written"]);
    const natsProblem = async () => "the connection to NATS is lost";
    assert.deepEqual(await problemsOf({ data: folder.path, natsProblem }), [
      "the connection to NATS is lost",
    ]);
  });
});
