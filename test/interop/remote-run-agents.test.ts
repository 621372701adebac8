import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { WITHOUT_SSHD } from "../support/git-rig/ssh-server.ts";
import { promptOf } from "../support/acp-socket.ts";
import { openingOf, RunRig } from "../support/remote-run/run-rig.ts";
import { toCall } from "./fake-prompts.ts";
import { ModelProxy } from "./model-proxy.ts";
import { goose, notHere, opencode, type OtherAgent } from "./other-agents.ts";

const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const noSandbox = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

/** The provider's key. Only the server has it. */
const KEY = "sk-of-the-server-0123456789abcdef";
/** What a program in the sandbox sees: the value of the variable, and the number of processes with the key. */
const LOOK = `printenv OPENAI_API_KEY > seen.txt; cat /proc/[0-9]*/environ | tr '\\0' '\\n' | grep -c '${KEY}' >> seen.txt; true`;

/** How each agent finds the model: at the address that the sandbox gives it. */
const SETTINGS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  goose: {
    GOOSE_PROVIDER: "openai",
    GOOSE_MODEL: "gpt-4o",
    GOOSE_MODE: "approve",
    GOOSE_DISABLE_KEYRING: "1",
  },
  opencode: {
    OPENCODE_CONFIG_CONTENT: JSON.stringify({
      provider: {
        fake: {
          npm: "@ai-sdk/openai-compatible",
          options: { baseURL: "{env:OPENAI_BASE_URL}", apiKey: "{env:OPENAI_API_KEY}" },
          models: { "fake-1": { limit: { context: 100_000, output: 4_000 } } },
        },
      },
      enabled_providers: ["fake"],
      model: "fake/fake-1",
      permission: { edit: "ask" },
      autoupdate: false,
    }),
    OPENCODE_DISABLE_MODELS_FETCH: "1",
    OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
    OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
  },
};

describe("a remote run", { timeout: 900_000, skip: WITHOUT_SSHD || noSandbox }, () => {
  for (const agent of [goose, opencode]) {
    it(`runs ${agent.name} in its sandbox without the model's key, and pushes its changes`, async (t) => {
      const command = await agent.install();
      if (command === undefined) return t.skip(notHere(agent));
      await workBehind(agent, command);
    });
  }
});

async function workBehind(agent: OtherAgent, command: string): Promise<void> {
  await using llm = await FakeLlm.start([
    ...toCall("allowed text", { toolCalls: [agent.write("new.txt", "allowed text")] }, "Written."),
    ...toCall("look around", { toolCalls: [agent.run(LOOK)] }, "It has run."),
    { content: "A title", when: () => true },
  ]);
  await using provider = await ModelProxy.start(llm.url);
  const patient = Object.fromEntries(
    ["initialize", "session/new"].map((name) => [name, { timeout: 240_000 }]),
  );
  await using run = await RunRig.start({
    config: {
      agent: agent.name,
      agents: { [agent.name]: { command, args: ["acp"], env: SETTINGS[agent.name] ?? {} } },
      limits: { messages: patient },
    },
    env: { OPENAI_API_KEY: KEY, OPENAI_BASE_URL: `${provider.url}/v1` },
  });
  const project = run.project("app");
  using ide = await run.connect();
  let asked = 0;
  ide.socket.on("message", (data: Buffer) => {
    const { id, method, params } = JSON.parse(data.toString("utf8"));
    if (method !== "session/request_permission") return;
    asked++;
    const { optionId } = params.options.find((one: { kind: string }) => one.kind === "allow_once");
    const result = { outcome: { outcome: "selected", optionId } };
    ide.socket.send(JSON.stringify({ jsonrpc: "2.0", id, result }));
  });
  const { sessionId } = await ide.ask("session/new", openingOf(project));
  const prompt = (text: string) => ide.ask("session/prompt", promptOf(String(sessionId), text));
  const first = await prompt("put allowed text there");
  assert.equal(asked, 1, "the person was asked before a file was written");
  assert.equal(first._meta.trunkline.run, "pushed", ide.text);
  const second = await prompt("look around");
  assert.equal(second._meta.trunkline.run, "pushed", ide.text);
  const { branch } = second._meta.target;
  await run.fetch(project, branch);
  assert.equal(project.git("show", "FETCH_HEAD:new.txt"), "allowed text");
  assert.equal(project.git("show", "FETCH_HEAD:seen.txt"), "added-by-the-proxy\n0");
  const changed = project.git("diff", "--name-only", `${project.revision}..FETCH_HEAD`);
  assert.deepEqual(changed.split("\n"), ["new.txt", "seen.txt"]);
  assert.deepEqual([...provider.keys], [`Bearer ${KEY}`]);
}
