import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { chromiumPath, DashboardBrowser, NO_CHROMIUM } from "../../browser/dashboard-browser.ts";
import { Keyboard } from "../../browser/keyboard.ts";
import { FleetRig } from "../../support/fleet-rig.ts";
import { noNats } from "../../support/nats-server.ts";

const skip = chromiumPath() === undefined ? NO_CHROMIUM : noNats;

describe("the page of the fleet in Chromium", { timeout: 240_000, skip }, () => {
  it("shows nodes, what waits and what moved, as it changes", async () => {
    await using browser = await DashboardBrowser.launch();
    await using rig = await FleetRig.start();
    await rig.worker("w1", "--slots", "1", "--label", "disk=fast");
    const gateway = await rig.gateway("g1");
    await using watched = await browser.open();
    const { page } = watched;
    await page.goto(gateway.ready.login);
    await page.getByRole("link", { name: "Fleet" }).click();
    const rows = (table: string, text: string) =>
      page.getByLabel(table, { exact: true }).getByRole("row").filter({ hasText: text });
    await rows("Nodes", "g1").waitFor();
    await rows("Nodes", "disk=fast").filter({ hasText: "0 of 1" }).waitFor();

    using client = await rig.client(gateway);
    const place = { cwd: rig.folder, mcpServers: [] };
    const { sessionId } = await client.ask("session/new", place);
    const prompt = [{ type: "text", text: "say hello" }];
    await client.ask("session/prompt", { sessionId, prompt });
    await rows("Nodes", "w1").filter({ hasText: "1 of 1" }).waitFor();
    using other = await rig.client(gateway);
    const asked = other.answer("session/new", place);
    await rows("Queue", "any worker").waitFor();

    await rig.worker("w2");
    await asked;
    await rig.kill("w1");
    await client.ask("session/prompt", { sessionId, prompt });
    await rows("Moves", "the worker was lost").filter({ hasText: "say hello" }).waitFor();
    await rows("Nodes", "w1").waitFor({ state: "detached" });
    for (const width of [1280, 400]) {
      await page.setViewportSize({ width, height: 800 });
      const keyboard = new Keyboard(page);
      await keyboard.visit("Fleet");
      const stops = await keyboard.around();
      for (const table of ["Nodes", "Moves"]) assert.ok(stops.includes(`DIV ${table}`), table);
    }
    watched.expectClean();
  });
});
