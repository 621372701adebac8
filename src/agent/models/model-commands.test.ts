import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { TrunklineError } from "../../base/errors.ts";
import { Log } from "../../base/log.ts";
import type { SecretName, SecretStore } from "../../store/secret/secret-store.ts";
import { type ConfiguredModelsOptions, ModelCommands } from "./model-commands.ts";
import { type SecretStoreOpener, storedKeys } from "./models.ts";

class MemoryKeychain implements SecretStore {
  readonly kind = "keychain";
  readonly describe = "a keychain";
  readonly kept = new Map<string, string>();

  async get({ service, account }: SecretName): Promise<string | undefined> {
    return this.kept.get(`${service}/${account}`);
  }

  async set({ service, account }: SecretName, secret: string): Promise<void> {
    this.kept.set(`${service}/${account}`, secret);
  }

  async remove({ service, account }: SecretName): Promise<boolean> {
    return this.kept.delete(`${service}/${account}`);
  }
}

const noKeychain = async (): Promise<never> => {
  throw new TrunklineError("unavailable", "Cannot read the keychain: no bus");
};

const log = new Log("error", () => {});

function options(open: SecretStoreOpener, env: NodeJS.ProcessEnv = {}): ConfiguredModelsOptions {
  return { settings: { local: false }, env, log, open };
}

describe("the keys of models", () => {
  it("are stored in the keychain under the names of their variables, and found there", async () => {
    const keychain = new MemoryKeychain();
    const open = async () => keychain;
    const commands = new ModelCommands(options(open));
    assert.equal(await commands.saveKey("OPENAI_API_KEY", " sk-1\n"), "a keychain");
    assert.deepEqual([...keychain.kept], [["trunkline/OPENAI_API_KEY", "sk-1"]]);
    const variables = ["ANTHROPIC_API_KEY", "OPENAI_API_KEY"];
    const found = await storedKeys(variables, { log, open });
    assert.deepEqual([...found], [["OPENAI_API_KEY", "sk-1"]]);
    assert.equal(await commands.clearKey("OPENAI_API_KEY"), true);
    assert.equal(await commands.clearKey("OPENAI_API_KEY"), false);
  });

  it("are refused if they cannot be keys, or if no provider uses that variable", async () => {
    const keychain = new MemoryKeychain();
    const commands = new ModelCommands(options(async () => keychain));
    await assert.rejects(commands.saveKey("OPENAI_API_KEY", "two words"), /a key is one word/);
    await assert.rejects(commands.saveKey("OPENAI_API_KEY", "\n"), /it is empty/);
    const says = /No key of a provider, .* is called 'OPENAI_KEY'. There are: .*OPENAI_API_KEY/;
    await assert.rejects(commands.saveKey("OPENAI_KEY", "sk-1"), says);
    assert.equal(keychain.kept.size, 0);
  });

  it("are absent without an error, but not without a word, if they cannot be read", async () => {
    const said: string[] = [];
    const loud = new Log("warn", (line) => said.push(line));
    const found = await storedKeys(["OPENAI_API_KEY"], { log: loud, open: noKeychain });
    assert.equal(found.size, 0);
    assert.match(said.join(""), /agent\.keys-not-read.*no bus/);
    const commands = new ModelCommands(options(noKeychain));
    const says = /no bus. Set OPENAI_API_KEY in the environment instead/;
    await assert.rejects(commands.saveKey("OPENAI_API_KEY", "sk-1"), says);
    const { models } = await commands.list();
    assert.deepEqual(
      models.map(({ id, isDefault }) => [id, isDefault]),
      [["offline", true]],
    );
  });

  it("whose provider cannot be used are reported when models are listed", async () => {
    const env = { OPENAI_API_KEY: "sk-1", OPENAI_BASE_URL: "http://127.0.0.1:1/v1" };
    const { unanswered } = await new ModelCommands(options(noKeychain, env)).list();
    assert.deepEqual(Object.keys(unanswered), ["openai"]);
  });
});
