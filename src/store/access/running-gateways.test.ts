import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { announceGateway, runningGateways } from "./running-gateways.ts";
import { DiskFaults } from "../../../test/support/disk-faults.ts";
import { SampleFolder } from "../../../test/samples/sample-folder.ts";

const MODULE = JSON.stringify(new URL("running-gateways.ts", import.meta.url).href);

describe("runningGateways", { timeout: 30_000 }, () => {
  it("finds running ones, the last started first, and none that has stopped", async () => {
    await using folder = await SampleFolder.create();
    assert.deepEqual(await runningGateways(folder.path), []);
    const one = await announceGateway(folder.path, { url: "http://1", browser: "http://b" });
    await new Promise((resolve) => setTimeout(resolve, 5));
    using _two = await announceGateway(folder.path, { url: "http://2", browser: "http://b" });
    const urls = async () => (await runningGateways(folder.path)).map(({ url }) => url);
    assert.deepEqual(await urls(), ["http://2", "http://1"]);
    one[Symbol.dispose]();
    assert.deepEqual(await urls(), ["http://2"]);
  });

  it("does not find one that was killed, and removes its files", async () => {
    await using folder = await SampleFolder.create();
    const child = await announceInChild(folder.path);
    assert.equal((await runningGateways(folder.path)).length, 1);
    child.kill("SIGKILL");
    await once(child, "exit");
    assert.deepEqual(await runningGateways(folder.path), []);
    assert.deepEqual(await readdir(join(folder.path, "gateways")), []);
  });

  it("is given no files of those that were killed when the next one starts", async () => {
    await using folder = await SampleFolder.create();
    const child = await announceInChild(folder.path);
    child.kill("SIGKILL");
    await once(child, "exit");
    const next = await announceGateway(folder.path, { url: "http://2", browser: "" }, "next");
    const names = await readdir(join(folder.path, "gateways"));
    assert.deepEqual(names.toSorted(), ["next.json", "next.lock"]);
    next[Symbol.dispose]();
  });

  it("leaves out one that cannot be read, unless it must be", async () => {
    await using folder = await SampleFolder.create();
    const gateway = { url: "http://127.0.0.1:1", browser: "http://127.0.0.1:1" };
    using _ = await announceGateway(folder.path, gateway);
    using disk = new DiskFaults(folder.path);
    disk.decide = ({ operation }) => (operation === "readFileSync" ? "EIO" : undefined);
    assert.deepEqual(await runningGateways(folder.path), []);
    await assert.rejects(runningGateways(folder.path, { mustRead: true }), /Cannot read/);
  });
});

/** Announces a gateway in another process, which can be killed. */
async function announceInChild(data: string): Promise<ChildProcess> {
  const script = `
    const { announceGateway } = await import(${MODULE});
    globalThis.kept = await announceGateway(${JSON.stringify(data)}, { url: "http://1", browser: "" });
    console.log("ready");
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script]);
  await once(child.stdout, "data");
  return child;
}
