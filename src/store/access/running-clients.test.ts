import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { announceClient, type Client, seenClients } from "./running-clients.ts";

const MODULE = JSON.stringify(new URL("running-clients.ts", import.meta.url).href);

const client = (kind: Client["kind"], name: string, since: number): Client => ({
  ...{ kind, name, since },
});

describe("seenClients", { timeout: 30_000 }, () => {
  it("finds those that run, and remembers the last of each kind that has ended", async () => {
    await using folder = await SampleFolder.create();
    const data = folder.path;
    const seen = () => seenClients(data).map(({ name, isRunning }) => [name, isRunning]);
    assert.deepEqual(seen(), []);
    const zed = await announceClient(data, client("editor", "Zed", 1));
    const one = await announceClient(data, client("assistant", "one", 2));
    assert.deepEqual(seen(), [
      ["one", true],
      ["Zed", true],
    ]);
    one[Symbol.dispose]();
    zed[Symbol.dispose]();
    using _two = await announceClient(data, client("assistant", "two", 3));
    assert.deepEqual(seen(), [
      ["two", true],
      ["Zed", false],
    ]);
    assert.equal((await readdir(join(data, "clients"))).length, 4);
  });

  it("knows that one was killed, and leaves out what it cannot read", async () => {
    await using folder = await SampleFolder.create();
    const data = JSON.stringify(folder.path);
    const text = `const { announceClient } = await import(${MODULE});
      globalThis.lock = await announceClient(${data}, { kind: "editor", name: "Zed", since: 1 });
      console.log("ready"); setInterval(() => {}, 1000);`;
    const child = spawn(process.execPath, ["--input-type=module", "-e", text]);
    await once(child.stdout, "data");
    assert.deepEqual(seenClients(folder.path)[0]?.isRunning, true);
    child.kill("SIGKILL");
    await once(child, "exit");
    await writeFile(join(folder.path, "clients/damaged.json"), "{");
    assert.deepEqual(
      seenClients(folder.path).map(({ name, isRunning }) => [name, isRunning]),
      [["Zed", false]],
    );
  });
});
