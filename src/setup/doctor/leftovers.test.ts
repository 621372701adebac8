import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { HoldingProcess } from "../../../test/support/holding-process.ts";
import { announceGateway } from "../../store/access/running-gateways.ts";
import { HOLDERS } from "../../store/holder.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { checkLeftovers } from "./state-checks.ts";

const LONG_AGO = new Date("2020-01-01");

describe("checkLeftovers()", () => {
  it("says nothing of an empty folder, or of one that is not there", async () => {
    await using folder = await SampleFolder.create();
    assert.deepEqual(await checkLeftovers(folder.path), []);
    mkdirSync(folder.path);
    assert.deepEqual(await checkLeftovers(folder.path), []);
    assert.deepEqual(readdirSync(folder.path), []);
  });

  it("finds what a killed process has left, and deletes that and nothing else", async () => {
    await using folder = await SampleFolder.create();
    {
      await using log = await SessionLog.open(folder.path);
      await log.release((await log.create({ id: "s", cwd: "/", agent: "x", notes: {} })).key);
    }
    {
      await using _killed = await HoldingProcess.start(folder.path, "s");
      assert.deepEqual(await checkLeftovers(folder.path), [], "it is alive");
    }
    using _alive = await announceGateway(folder.path, { url: "http://x", browser: "http://x" });
    const gateways = join(folder.path, "gateways");
    writeFileSync(join(gateways, "dead.json"), "{}");
    writeFileSync(join(gateways, "dead.lock"), "");
    const half = join(folder.path, `approvals.json.${crypto.randomUUID()}`);
    const young = join(folder.path, `trust.json.${crypto.randomUUID()}`);
    for (const path of [half, young]) writeFileSync(path, "{");
    utimesSync(half, LONG_AGO, LONG_AGO);
    const [found, ...more] = await checkLeftovers(folder.path);
    assert.deepEqual([found?.state, more.length], ["ok", 0]);
    assert.match(found?.says ?? "", /^3 files of programs that were killed/);
    assert.equal(found?.fix?.asks, undefined, "nobody misses them");
    await found?.fix?.apply();
    assert.deepEqual(await checkLeftovers(folder.path), []);
    assert.equal(existsSync(join(folder.path, HOLDERS)), false);
    assert.equal(readdirSync(gateways).length, 2, "the running gateway stays");
    assert.deepEqual([existsSync(half), existsSync(young)], [false, true]);
    assert.ok(existsSync(join(folder.path, "sessions.sqlite")));
  });
});
