import assert from "node:assert/strict";
import { mkdir, mkdtempDisposable, readdir, rename, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SDK } from "../../../test/support/plugin-sdk.ts";
import { until } from "../../../test/support/until.ts";
import { pluginSettings } from "../plugin/settings.ts";
import { devPlugin } from "./dev-plugin.ts";

const PLUGIN = `
import { definePlugin } from ${JSON.stringify(SDK)};
console.log(process.env.WORD ?? "the first");
definePlugin({ id: "tools.dev", version: "1.0.0" });
`;

const BUS = {
  clientCertificate: "require",
  callTimeout: 60_000,
  sandbox: "off",
  plugins: {},
} as const;

/** Takes lines, and waits for one that is as wanted. */
class Told {
  readonly lines: string[] = [];
  #changed = Promise.withResolvers<void>();

  readonly tell = (line: string): void => {
    this.lines.push(line);
    this.#changed.resolve();
  };

  async told(wanted: string | RegExp): Promise<void> {
    const isWanted = (line: string): boolean =>
      typeof wanted === "string" ? line === wanted : wanted.test(line);
    while (!this.lines.some(isWanted)) {
      await this.#changed.promise;
      this.#changed = Promise.withResolvers();
    }
  }
}

describe("devPlugin()", () => {
  it("tells what the plugin says, and starts it again when a file of it changes", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-"));
    const file = join(home.path, "plugin.mjs");
    await writeFile(file, PLUGIN);
    const told = new Told();
    await using data = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-data-"));
    const settings = pluginSettings({ id: "tools.dev", binary: process.execPath, args: [file] });
    let env = {};
    await using _running = await devPlugin({
      ...{ config: { bus: BUS, data: data.path }, plugin: settings, folder: home.path },
      tell: told.tell,
      again: async () => ({ ...settings, env }),
    });
    await told.told("up, with 0 tools");
    // Where what a killed process leaves is removed, also the key that signs certificates.
    const kept = await readdir(data.path, { recursive: true });
    assert.equal(kept.filter((path) => /^bus\/.*ca\.key$/.test(path)).length, 1);
    await told.told("the first");
    env = { WORD: "run as it is to be run now" };
    await writeFile(file, `${PLUGIN}\n`);
    await told.told("run as it is to be run now");
    await writeFile(file, "throw new Error('a slip');");
    await told.told("changed: it is started again");
    await told.told("Error: a slip");
    await told.told(
      /^down: It ended .* after saying: Error: a slip\. A change of its files starts it again$/,
    );
  });

  it("follows a folder that another one has taken the place of, and a plugin of another id", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-"));
    const folder = join(home.path, "plugin");
    const file = join(folder, "plugin.mjs");
    await mkdir(folder);
    await writeFile(file, PLUGIN);
    const told = new Told();
    await using data = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-data-"));
    let settings = pluginSettings({ id: "tools.dev", binary: process.execPath, args: [file] });
    await using _running = await devPlugin({
      ...{ config: { bus: BUS, data: data.path }, plugin: settings, folder, tell: told.tell },
      again: async () => settings,
    });
    await told.told("the first");
    await rename(folder, `${folder}.old`);
    await mkdir(folder);
    await writeFile(file, PLUGIN.replace("the first", "another folder"));
    await told.told("another folder");
    settings = { ...settings, id: "tools.renamed" };
    await writeFile(
      file,
      PLUGIN.replace("the first", "another id").replace("tools.dev", "tools.renamed"),
    );
    await told.told("another id");
    await writeFile(
      file,
      PLUGIN.replace("the first", "once more").replace("tools.dev", "tools.renamed"),
    );
    await told.told("once more");
  });

  it("does not go back to what a plugin declared before its last change", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-"));
    const file = join(home.path, "plugin.mjs");
    await writeFile(file, PLUGIN);
    const told = new Told();
    await using data = await mkdtempDisposable(join(tmpdir(), "trunkline-dev-data-"));
    const settings = pluginSettings({ id: "tools.dev", binary: process.execPath, args: [file] });
    const asked: PromiseWithResolvers<typeof settings>[] = [];
    const isAsked = Promise.withResolvers<void>();
    await using _running = await devPlugin({
      ...{ config: { bus: BUS, data: data.path }, plugin: settings, folder: home.path },
      tell: told.tell,
      again: () => {
        asked.push(Promise.withResolvers());
        if (asked.length === 2) isAsked.resolve();
        return asked.at(-1)?.promise ?? assert.fail();
      },
    });
    await told.told("the first");
    await writeFile(file, `${PLUGIN}\n`);
    await told.told("changed: it is started again");
    await writeFile(file, `${PLUGIN}\n\n`);
    await isAsked.promise;
    asked[1]?.resolve({ ...settings, env: { WORD: "as it is now" } });
    await told.told("as it is now");
    asked[0]?.resolve({ ...settings, env: { WORD: "as it was" } });
    told.lines.length = 0;
    await writeFile(file, `${PLUGIN}\n\n\n`);
    await until(() => asked.length >= 3);
    // One that cannot be asked is started as it was last.
    asked[2]?.reject(new Error("a slip"));
    await told.told(/^as it/);
    assert.equal(told.lines.includes("as it was"), false);
  });
});
