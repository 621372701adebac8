import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { pluginSettings } from "../../plugin/plugin/settings.ts";
import { devPlugin } from "./dev-plugin.ts";

const SDK = pathToFileURL(join(import.meta.dirname, "../../plugin/sdk/trunkline-plugin.ts")).href;

const PLUGIN = `
import { definePlugin } from ${JSON.stringify(SDK)};
console.log(process.env.WORD ?? "the first");
definePlugin({ id: "tools.dev", version: "1.0.0" });
`;

describe("devPlugin()", () => {
  it("tells what the plugin says, and starts it again when a file of it changes", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-"));
    const file = join(home.path, "plugin.mjs");
    await writeFile(file, PLUGIN);
    const lines: string[] = [];
    let changed = Promise.withResolvers<void>();
    const tell = (line: string): void => {
      lines.push(line);
      changed.resolve();
    };
    const told = async (wanted: string | RegExp): Promise<void> => {
      const isWanted = (line: string): boolean =>
        typeof wanted === "string" ? line === wanted : wanted.test(line);
      while (!lines.some(isWanted)) {
        await changed.promise;
        changed = Promise.withResolvers();
      }
    };
    const bus = {
      clientCertificate: "require",
      callTimeout: 60_000,
      sandbox: "off",
      plugins: {},
    } as const;
    await using data = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-data-"));
    const settings = pluginSettings({ id: "tools.dev", binary: process.execPath, module: file });
    let env = {};
    await using _running = await devPlugin({
      ...{ config: { bus, data: data.path }, plugin: settings, folder: home.path, tell },
      again: async () => ({ ...settings, env }),
    });
    await told("up, with 0 tools");
    await told("the first");
    env = { WORD: "run as it is to be run now" };
    await writeFile(file, `${PLUGIN}\n`);
    await told("run as it is to be run now");
    await writeFile(file, "throw new Error('a slip');");
    await told("changed: it is started again");
    await told("a slip");
    await told(/^down: It ended .* after saying: a slip\. A change of its files starts it again$/);
  });
});
