import assert from "node:assert/strict";
import {
  chmod,
  mkdir,
  mkdtempDisposable,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import type { Config } from "../../config/config.ts";
import { type Remembered, RememberedOffer } from "./remembered-offer.ts";

const REMEMBERED: Remembered = {
  tools: [
    {
      definition: { name: "a_read", inputSchema: { type: "object" } },
      source: { server: "a", name: "read" },
      task: "optional",
    },
  ],
  prompts: [{ definition: { name: "greet" }, source: { server: "a", name: "greet" } }],
  instructions: [{ server: "a", text: "Greet first" }],
};

type Settings = Pick<Config, "data" | "mcpServers" | "policy">;

/** A data folder in which two servers are known and their tools approved. */
class Sample implements AsyncDisposable {
  readonly settings: Settings;
  readonly #folder: Awaited<ReturnType<typeof mkdtempDisposable>>;

  private constructor(folder: Awaited<ReturnType<typeof mkdtempDisposable>>) {
    this.#folder = folder;
    this.settings = {
      data: folder.path,
      mcpServers: { a: { command: "a", args: ["--key=secret"] }, "b/2": { url: "http://b/" } },
      policy: { tools: { default: "allow", rules: [], approve: "first-use" } },
    };
  }

  static async create(): Promise<Sample> {
    const sample = new Sample(await mkdtempDisposable(join(tmpdir(), "trunkline-offer-")));
    await mkdir(sample.path("upstreams"));
    for (const file of INPUTS) await writeFile(sample.path(file), "{}");
    return sample;
  }

  path(name: string): string {
    return join(this.settings.data, name);
  }

  /** As if some time had passed since the files were last changed. */
  offer(settings: Partial<Settings> = {}): RememberedOffer {
    return new RememberedOffer({ ...this.settings, ...settings }, Date.now() + 10_000);
  }

  async file(): Promise<string> {
    const [name = ""] = await readdir(this.path("offers"));
    return join(this.path("offers"), name);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder.remove();
  }
}

const INPUTS = ["approvals.json", "upstreams/a.json", "upstreams/b%2F2.json"];

describe("RememberedOffer", () => {
  it("returns what was stored for the same servers", async () => {
    await using sample = await Sample.create();
    assert.equal(sample.offer().read(), undefined);
    sample.offer().write(REMEMBERED);
    assert.deepEqual(sample.offer().read(), REMEMBERED);
  });

  for (const file of INPUTS) {
    it(`returns nothing once ${file} was replaced or removed`, async () => {
      await using sample = await Sample.create();
      sample.offer().write(REMEMBERED);
      await writeFile(`${sample.path(file)}.new`, "{}");
      await rename(`${sample.path(file)}.new`, sample.path(file));
      assert.equal(sample.offer().read(), undefined);
      sample.offer().write(REMEMBERED);
      assert.deepEqual(sample.offer().read(), REMEMBERED);
      await rm(sample.path(file));
      assert.equal(sample.offer().read(), undefined);
    });
  }

  it("returns nothing for other servers, another order or other rules", async () => {
    await using sample = await Sample.create();
    sample.offer().write(REMEMBERED);
    const { mcpServers, policy } = sample.settings;
    const others: Partial<Settings>[] = [
      { mcpServers: { ...mcpServers, a: { command: "a", args: ["--key=other"] } } },
      { mcpServers: { ...mcpServers, a: { command: "a", args: ["--key=secret"], cwd: "/" } } },
      { mcpServers: { ...mcpServers, "b/2": { url: "http://c/" } } },
      { mcpServers: Object.fromEntries(Object.entries(mcpServers).toReversed()) },
      { mcpServers: { a: { command: "a", args: ["--key=secret"] } } },
      { policy: { tools: { ...policy.tools, approve: "always" } } },
    ];
    for (const other of others) assert.equal(sample.offer(other).read(), undefined);
    const same = {
      mcpServers: { ...mcpServers, "b/2": { url: "http://b/", headers: { x: "y" } } },
    };
    assert.deepEqual(sample.offer(same).read(), REMEMBERED);
  });

  it("stores nothing if a concurrent change could make it wrong", async () => {
    await using sample = await Sample.create();
    new RememberedOffer(sample.settings).write(REMEMBERED);
    assert.equal(sample.offer().read(), undefined);
  });

  it("ignores a file that others can write to, or that is broken", async () => {
    await using sample = await Sample.create();
    sample.offer().write(REMEMBERED);
    const file = await sample.file();
    await chmod(file, 0o620);
    assert.equal(sample.offer().read(), undefined);
    await chmod(file, 0o600);
    assert.deepEqual(sample.offer().read(), REMEMBERED);
    const text = await readFile(file, "utf8");
    const broken = ["", "null", "[]", "{}", text.slice(0, -9), text.replace(/"tools":\[/, '"t":[')];
    broken.push(text.replace(/"version":"[^"]*"/, '"version":"0.0.0"'));
    for (const wrong of broken) {
      await writeFile(file, wrong);
      assert.equal(sample.offer().read(), undefined, wrong);
    }
  });

  it("can be read by its owner only, and contains no secret of the settings", async () => {
    await using sample = await Sample.create();
    sample.offer().write(REMEMBERED);
    const file = await sample.file();
    assert.doesNotMatch(file + (await readFile(file, "utf8")), /secret/);
    assert.equal((await stat(file)).mode & 0o777, 0o600);
    assert.equal((await stat(sample.path("offers"))).mode & 0o777, 0o700);
  });

  it("stores the offers of several sets of servers", async () => {
    await using sample = await Sample.create();
    for (let number = 0; number < 30; number++) {
      const a = { command: "a", args: [String(number)] };
      sample.offer({ mcpServers: { a } }).write(REMEMBERED);
      assert.deepEqual(sample.offer({ mcpServers: { a } }).read(), REMEMBERED);
    }
    assert.equal((await readdir(sample.path("offers"))).length, 16);
  });
});
