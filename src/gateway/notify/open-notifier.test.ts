import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { defaultConfig } from "../config/config.ts";
import { House } from "../house.ts";
import { openNotices, openNotifier } from "./open-notifier.ts";

function houseWith(data: string, notifications: House["config"]["notifications"]): House {
  const config = { ...defaultConfig(data), notifications };
  return new House({ ...config, log: { level: "error", verbose: false } });
}

describe("openNotices()", () => {
  it("opens nothing where nobody is to be notified", async () => {
    await using folder = await SampleFolder.create();
    assert.equal(await openNotices(houseWith(folder.path, [])), undefined);
  });

  it("leaves sessions without notifications if their database cannot be opened", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(join(folder.path, "notifications.sqlite"), { recursive: true });
    const house = houseWith(folder.path, [{ command: ["true"] }]);
    assert.equal(await openNotices(house), undefined);
    await assert.rejects(openNotifier(house, {}), /notifications\.sqlite/);
  });
});
