import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Log } from "../base/log.ts";
import { followConfig } from "./follow-config.ts";
import { until } from "../../test/support/until.ts";

/** A configuration that is a number in a file. */
class Rig implements AsyncDisposable {
  readonly reloading;
  readonly log: Log;
  readonly events: string[] = [];
  loads = 0;
  #heard = Promise.withResolvers<string>();
  readonly #file: string;
  readonly #folder: AsyncDisposable;
  readonly #alive = setInterval(() => {}, 1000);

  private constructor(folder: AsyncDisposable & { readonly path: string }) {
    this.#folder = folder;
    this.#file = join(folder.path, "config");
    this.log = new Log("info", (line) => {
      const { event } = JSON.parse(line) as { event: string };
      this.events.push(event);
      this.#heard.resolve(event);
    });
    this.reloading = { files: [this.#file], load: () => this.#load() };
  }

  static async open(): Promise<Rig> {
    return new Rig(await mkdtempDisposable(join(tmpdir(), "trunkline-follow-")));
  }

  wrong: Error | undefined;

  async #load(): Promise<number> {
    this.loads++;
    if (this.wrong !== undefined) throw this.wrong;
    return this.loads;
  }

  /** What the log says of the next change. */
  async change(): Promise<string> {
    this.#heard = Promise.withResolvers();
    this.write();
    return await this.#heard.promise;
  }

  write(): void {
    writeFileSync(this.#file, "x");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#alive);
    await this.#folder[Symbol.asyncDispose]();
  }
}

describe("followConfig()", { timeout: 600_000 }, () => {
  it("reads a change once for all parts, and keeps the old values if it is invalid", async () => {
    await using rig = await Rig.open();
    const applied: [string, number][] = [];
    const part = (name: string) => (config: number) => void applied.push([name, config]);
    const stopOne = followConfig(rig.reloading, rig.log, part("one"));
    const stopOther = followConfig(rig.reloading, rig.log, part("other"));
    assert.equal(await rig.change(), "config.reloaded");
    assert.deepEqual(applied.splice(0), [
      ["one", 1],
      ["other", 1],
    ]);
    rig.wrong = new Error("not JSON");
    assert.equal(await rig.change(), "config.not-reloaded");
    assert.deepEqual(applied, []);
    rig.wrong = undefined;
    stopOne();
    assert.equal(await rig.change(), "config.reloaded");
    assert.deepEqual(applied, [["other", 3]]);
    stopOther();
  });

  it("applies the last of the changes that come while one is applied", async () => {
    await using rig = await Rig.open();
    const [begun, open] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const applied: number[] = [];
    const stop = followConfig(rig.reloading, rig.log, async (config) => {
      applied.push(config);
      begun.resolve();
      await open.promise;
    });
    const told = rig.change();
    await begun.promise;
    for (let times = 0; times < 4; times++) {
      const { loads } = rig;
      rig.write();
      await until(() => rig.loads > loads);
    }
    open.resolve();
    assert.equal(await told, "config.reloaded");
    await until(() => applied.length > 1);
    assert.deepEqual(applied, [1, rig.loads]);
    assert.deepEqual(rig.events, ["config.reloaded"]);
    stop();
  });

  it("keeps no part waiting for another", async () => {
    await using rig = await Rig.open();
    const open = Promise.withResolvers<void>();
    const applied: number[] = [];
    const changed = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const stops = [
      followConfig(rig.reloading, rig.log, () => open.promise),
      followConfig(rig.reloading, rig.log, (config) => {
        applied.push(config);
        changed[applied.length - 1]?.resolve();
      }),
    ];
    for (const { promise } of changed) {
      rig.write();
      await promise;
    }
    assert.deepEqual([applied, rig.events], [[1, 2], []]);
    open.resolve();
    for (const stop of stops) stop();
  });

  it("does not report a change as applied if a part failed, and lets the others apply it", async () => {
    await using rig = await Rig.open();
    let isApplied = false;
    const stops = [
      followConfig(rig.reloading, rig.log, () => Promise.reject(new Error("no room"))),
      followConfig(rig.reloading, rig.log, () => void (isApplied = true)),
    ];
    assert.equal(await rig.change(), "config.not-reloaded");
    assert.equal(isApplied, true);
    for (const stop of stops) stop();
  });

  it("watches nothing if there is no file to read again", () => {
    followConfig(undefined, new Log("error"), () => assert.fail())();
  });
});
