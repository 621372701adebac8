import { existsSync } from "node:fs";

import type { ScriptedCall } from "../agent/fake-llm.ts";
import { Packages } from "../support/packages.ts";

/** Somebody else's agent, from npm, that speaks ACP and asks a model that we give it. */
export interface OtherAgent {
  readonly name: string;
  /** Installs it; its program, or undefined where there is none for this machine. */
  install(): Promise<string | undefined>;
  /** Its entry under `agents`. */
  entry(command: string, llm: string): object;
  /** What the model says to have a file written. */
  write(path: string, content: string): ScriptedCall;
  /** What the model says to have a command run. */
  run(command: string): ScriptedCall;
  /** The mode that it begins with, in which it asks before it writes; one in which it does not. */
  readonly modes: readonly [asking: string, trusting: string];
  /** The model that it begins with, and another. */
  readonly models: readonly [first: string, other: string];
}

const MODEL = { limit: { context: 100_000, output: 4_000 } };
const MACHINE = `${process.platform === "win32" ? "windows" : process.platform}-${process.arch}`;

export const opencode: OtherAgent = {
  name: "opencode",
  async install() {
    const packages = new Packages("test/interop/opencode");
    await packages.install();
    // The plain one needs a processor with AVX2.
    const kinds = ["-baseline", "", "-baseline-musl", "-musl"];
    const program = process.platform === "win32" ? "opencode.exe" : "opencode";
    return kinds
      .map((kind) => packages.path(`opencode-${MACHINE}${kind}`, "bin", program))
      .find((path) => existsSync(path));
  },
  entry: (command, llm) => ({
    command,
    args: ["acp"],
    env: {
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        provider: {
          fake: {
            npm: "@ai-sdk/openai-compatible",
            options: { baseURL: `${llm}/v1`, apiKey: "none" },
            models: { "fake-1": MODEL, "fake-2": MODEL },
          },
        },
        enabled_providers: ["fake"],
        model: "fake/fake-1",
        permission: { edit: "ask" },
        agent: { trusted: { mode: "primary", permission: { edit: "allow" } } },
        autoupdate: false,
      }),
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
  }),
  write: (filePath, content) => ({ name: "write", arguments: { filePath, content } }),
  run: (command) => ({ name: "bash", arguments: { command, description: "Runs it" } }),
  modes: ["build", "trusted"],
  models: ["fake/fake-1", "fake/fake-2"],
};

export const goose: OtherAgent = {
  name: "goose",
  async install() {
    const packages = new Packages("test/interop/goose");
    await packages.install();
    const program = process.platform === "win32" ? "goose.exe" : "goose";
    const machine = `${process.platform}-${process.arch}`;
    const path = packages.path(`@aaif/goose-binary-${machine}`, "bin", program);
    return existsSync(path) ? path : undefined;
  },
  entry: (command, llm) => ({
    command,
    args: ["acp"],
    env: {
      GOOSE_PROVIDER: "openai",
      GOOSE_MODEL: "gpt-4o",
      GOOSE_MODE: "approve",
      GOOSE_DISABLE_KEYRING: "1",
      OPENAI_HOST: llm,
      OPENAI_API_KEY: "none",
    },
  }),
  write: (path, content) => ({ name: "write", arguments: { path, content } }),
  run: (command) => ({ name: "shell", arguments: { command } }),
  modes: ["approve", "auto"],
  models: ["gpt-4o", "gpt-4.1"],
};
