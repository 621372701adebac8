import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import {
  type Context,
  httpStream,
  loadSdk,
  Oracle,
  stdioStream,
  type Stream,
  webSocketStream,
} from "../acp/oracle.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { Place } from "../support/acp-editor.ts";
import type { Json } from "../support/acp-app.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";
import { gone } from "../support/running-at.ts";

const WRITE = { name: "write_file", arguments: { path: "new.txt", content: "written\n" } };
const SCRIPT = [{ toolCalls: [WRITE] }, { content: "It is written, in several pieces." }];

/** A turn with a model, commands without one, and the session taken up again. */
async function converse(context: Context, cwd: string): Promise<void> {
  await context.request("initialize", {
    protocolVersion: 1,
    clientCapabilities: { fs: { readTextFile: true, writeTextFile: true } },
  });
  const where = { cwd, mcpServers: [] };
  const { sessionId, models } = await context.request("session/new", where);
  assert.equal(models.availableModels.at(-1).name, "Offline (no LLM)");
  const say = async (text: string): Promise<void> => {
    const prompt = [{ type: "text", text }];
    const { stopReason } = await context.request("session/prompt", { sessionId, prompt });
    assert.equal(stopReason, "end_turn");
  };
  await say("write it");
  assert.equal(readFileSync(join(cwd, "new.txt"), "utf8"), "written\n");
  await context.request("session/set_config_option", {
    sessionId,
    configId: "model",
    value: "offline",
  });
  await say("/help");
  await say("/undo");
  assert.equal(existsSync(join(cwd, "new.txt")), false);
  await context.request("session/close", { sessionId });
  const loaded = await context.request("session/load", { sessionId, ...where });
  assert.equal(loaded.models.currentModelId, "offline");
}

async function drive(stream: Stream, cwd: string): Promise<void> {
  const sdk = await loadSdk();
  const oracle = await Oracle.load();
  const updates: Json[] = [];
  const asked: Json[] = [];
  const app = sdk
    .client({ name: "test" })
    .onNotification("session/update", ({ params }) => void updates.push(params.update))
    .onRequest("session/request_permission", ({ params }) => {
      asked.push(params);
      const { optionId } = params.options.find(({ kind }: Json) => kind === "allow_once");
      return { outcome: { outcome: "selected", optionId } };
    })
    .onRequest("fs/read_text_file", ({ params }) => ({
      content: readFileSync(params.path as string, "utf8"),
    }))
    .onRequest("fs/write_text_file", ({ params }) => {
      writeFileSync(params.path as string, params.content as string);
      return {};
    });
  await app.connectWith(oracle.watch(stream), (context) => converse(context, cwd));
  assert.deepEqual(oracle.problems, []);
  assert.equal(asked.length, 1);
  const text = updates.map(({ content }) => content?.text ?? "").join("");
  const once = /It is written, in several pieces\..*No language model is in use/s;
  // As it was said, and as it was loaded.
  assert.match(text, new RegExp(`${once.source}.*${once.source}`, "s"));
}

describe("the official SDK's client with the built-in agent", { timeout: 600_000 }, () => {
  const run = async (
    args: readonly string[],
    work: (program: Program, cwd: string) => Promise<void>,
  ): Promise<void> => {
    await using llm = await FakeLlm.start(SCRIPT);
    using place = new Place();
    const key = { OPENAI_API_KEY: "none", OPENAI_BASE_URL: `${llm.url}/v1` };
    await using program = new Program(args, { env: { ...key, HOME: place.home } });
    await work(program, place.folder);
    assert.equal(await program.exit, 0);
    await gone(place.home);
  };

  it("holds whole conversations on stdio", () =>
    run(["acp"], async ({ child }, cwd) => {
      await drive(await stdioStream(child), cwd);
      child.stdin.end();
    }));

  for (const [name, open] of [
    ["a WebSocket", webSocketStream],
    ["Streamable HTTP", httpStream],
  ] as const) {
    it(`holds whole conversations on ${name}`, () =>
      run(["serve", "--port", "0", "--json"], async (program, cwd) => {
        const [ready] = await program.answers(1);
        await drive(await open(readyOf(ready)), cwd);
        program.child.kill("SIGTERM");
      }));
  }
});
