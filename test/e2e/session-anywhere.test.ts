// Long: sessions in several processes.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpEditor, Place } from "../support/acp-editor.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const other = { command: process.execPath, args: [AGENT, "--loads"] };
/** It answers no request on its own, and shares its home with others. */
const SHARED = {
  config: { agent: "other", agents: { other } },
  answers: { "session/request_permission": () => undefined },
  isShared: true,
};

async function joinIn(editor: AcpEditor, sessionId: string): Promise<void> {
  await editor.hello();
  const { folder } = editor.place;
  await editor.ask("session/load", { sessionId, cwd: folder, mcpServers: [] });
}

describe("a session that another process has open", { timeout: 600_000 }, () => {
  it("is joined through that process: both clients see everything, and either may answer", async () => {
    using place = new Place();
    await using one = new AcpEditor(place, SHARED);
    const sessionId = await one.begin();
    await one.prompt(sessionId, "say first");
    await using two = new AcpEditor(place, SHARED);
    await joinIn(two, sessionId);
    assert.match(two.text(), /first/);

    assert.deepEqual(await two.prompt(sessionId, "say second"), { stopReason: "end_turn" });
    await one.program.until(() => one.text().includes("second"));
    assert.match(two.text(), /second/);

    const asked = one.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "permission" }],
    });
    const question = await two.find(({ method }) => method === "session/request_permission");
    const { id: own } = await one.find(({ method }) => method === "session/request_permission");
    two.program.write({
      jsonrpc: "2.0",
      id: question.id,
      result: { outcome: { outcome: "selected", optionId: "once" } },
    });
    assert.deepEqual((await one.answerTo(asked)).result, { stopReason: "end_turn" });
    await one.find(
      ({ method, params }) => method === "$/cancel_request" && params.requestId === own,
    );
    await two.program.until(() => two.text().includes('"optionId":"once"'));

    // It sees updates outside of turns, its own requests are answered, and it can leave without the others.
    await two.ask("session/set_mode", { sessionId, modeId: "ask" });
    await one.update(({ currentModeId }) => currentModeId === "ask");
    two.program.child.stdin.end();
    assert.equal(await two.program.exit, 0);
    assert.deepEqual(await one.prompt(sessionId, "say third"), { stopReason: "end_turn" });
  });

  it("can be cancelled by either client, and attached to from a terminal", async () => {
    using place = new Place();
    await using one = new AcpEditor(place, SHARED);
    const sessionId = await one.begin();
    await using two = new AcpEditor(place, SHARED);
    await joinIn(two, sessionId);
    const asked = two.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "forever" }],
    });
    await one.program.until(() => one.text().includes("3 "));
    one.notify("session/cancel", { sessionId });
    assert.deepEqual((await two.answerTo(asked)).result, { stopReason: "cancelled" });

    const file = join(place.path, "config.jsonc");
    const env = { HOME: place.home };
    await using watcher = new Program(
      ["session", "attach", sessionId, "--observe", "--config", file],
      { env },
    );
    await watcher.until(({ stderr }) => stderr.includes("You observe this session"));
    watcher.write("say mine");
    await watcher.until(({ stderr }) => stderr.includes("Cannot send a prompt: you observe"));
    watcher.child.stdin.end();
    assert.equal(await watcher.exit, 0);
    await using person = new Program(["session", "attach", sessionId, "--config", file], { env });
    person.write("say from a terminal");
    await person.until(({ lines }) => lines.some((line) => line.endsWith("from a terminal")));
    await two.program.until(() => two.text().includes("from a terminal"));
    person.child.stdin.end();
    assert.equal(await person.exit, 0);
  });

  it("is taken over when that process is killed: nothing is lost or shown twice", async () => {
    using place = new Place();
    const one = new AcpEditor(place, SHARED);
    const sessionId = await one.begin();
    await using two = new AcpEditor(place, SHARED);
    await using three = new AcpEditor(place, SHARED);
    await Promise.all([joinIn(two, sessionId), joinIn(three, sessionId)]);
    const asked = two.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "forever" }],
    });
    await three.program.until(() => three.text().includes("40 "));
    one.program.child.kill("SIGKILL");
    const { error } = await two.answerTo(asked);
    assert.match(String(error?.message), /process that worked on this prompt has ended/);
    assert.deepEqual(error?.data, { interrupted: true });
    await three.program.until(() => three.text().includes("interrupted"));
    // Each gets the texts over a connection of its own.
    await two.program.until(() => two.text() === three.text());
    const [numbers = ""] = two.text().split("\n");
    const said = numbers
      .trim()
      .split(" ")
      .filter((word) => /^\d+$/.test(word))
      .map(Number);
    assert.deepEqual(
      said,
      said.map((_, at) => at),
    );
    assert.deepEqual(await three.prompt(sessionId, "say on and on"), { stopReason: "end_turn" });
    await two.program.until(() => two.text().endsWith("on and on"));
    await one[Symbol.asyncDispose]();
  });
});

/** `trunkline serve` on the data folder of a place. */
async function serveIn(place: Place): Promise<Program> {
  const file = join(place.path, "config.jsonc");
  writeFileSync(file, JSON.stringify(SHARED.config));
  const args = ["serve", "--config", file, "--port", "0", "--json"];
  const serve = new Program(args, { env: { HOME: place.home, TMPDIR: place.home } });
  await serve.until(({ lines }) => lines.some((line) => line.includes('"ready":true')));
  return serve;
}

describe("a session that is begun while `trunkline serve` runs", { timeout: 600_000 }, () => {
  it("is open there: closing the editor does not stop its turn", async () => {
    using place = new Place();
    await using serve = await serveIn(place);
    let sessionId: string;
    {
      await using editor = new AcpEditor(place, SHARED);
      sessionId = await editor.begin();
      editor.post("session/prompt", { sessionId, prompt: [{ type: "text", text: "forever" }] });
      await editor.program.until(() => editor.text().includes("5 "));
    }
    await using later = new AcpEditor(place, SHARED);
    await joinIn(later, sessionId);
    const before = later.text().length;
    await later.program.until(() => later.text().length > before + 50);
    later.notify("session/cancel", { sessionId });
    await later.update(({ sessionUpdate, _meta }) => {
      return (
        sessionUpdate === "session_info_update" && _meta?.trunkline?.turn?.state === "cancelled"
      );
    });
    serve.child.kill("SIGTERM");
    assert.equal(await serve.exit, 0);
  });

  it("continues in the editor's own process when that gateway is killed", async () => {
    using place = new Place();
    await using serve = await serveIn(place);
    await using editor = new AcpEditor(place, SHARED);
    const sessionId = await editor.begin();
    const asked = editor.post("session/prompt", {
      sessionId,
      prompt: [{ type: "text", text: "forever" }],
    });
    await editor.program.until(() => editor.text().includes("30 "));
    serve.child.kill("SIGKILL");
    const { error } = await editor.answerTo(asked);
    assert.deepEqual(error?.data, { interrupted: true });
    assert.deepEqual(await editor.prompt(sessionId, "say again"), { stopReason: "end_turn" });
    const [numbers = ""] = editor.text().split("\n");
    const said = numbers.trim().split(" ").map(Number);
    assert.deepEqual(
      said,
      said.map((_, at) => at),
    );
    assert.equal(await serve.exit, "SIGKILL");
  });
});
