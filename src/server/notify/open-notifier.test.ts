import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Log } from "../../base/log.ts";
import { defaultConfig } from "../../config/config.ts";
import { AppContext } from "../../config/app-context.ts";
import { openNotifier } from "./open-notifier.ts";

function appWith(data: string, notifications: AppContext["config"]["notifications"]): AppContext {
  const config = { ...defaultConfig(data), notifications };
  return new AppContext({ ...config, log: { level: "error", verbose: false, requests: false } });
}

describe("openNotifier()", () => {
  it("opens nothing where nobody is to be notified", async () => {
    await using folder = await SampleFolder.create();
    assert.equal(await openNotifier(appWith(folder.path, []), {}), undefined);
  });

  it("lets sessions go on while the database cannot be opened, and says so to whoever tries it out", async () => {
    await using folder = await SampleFolder.create();
    mkdirSync(join(folder.path, "notifications.sqlite"), { recursive: true });
    const app = appWith(folder.path, [{ command: ["true"] }]);
    Object.assign(app, { log: new Log("error", () => {}) });
    await using notices = await openNotifier(app, {});
    assert.ok(notices !== undefined);
    await using notifier = await openNotifier(app, {});
    await assert.rejects(notifier!.add({ reason: "test" }), /notifications\.sqlite/);
  });
});
