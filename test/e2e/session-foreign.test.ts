import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpEditor, Place } from "../support/acp-editor.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const agents = {
  other: { command: process.execPath, args: [AGENT, "--loads", "--lists"] },
  plain: { command: process.execPath, args: [AGENT] },
};

describe("sessions that an agent began itself", { timeout: 600_000 }, () => {
  it("are listed on demand, and become ours when they are loaded", async () => {
    using place = new Place();
    await using editor = new AcpEditor(place, { config: { agent: "other", agents } });
    await editor.hello();
    const plain = await editor.ask("session/list", {});
    assert.deepEqual(plain.sessions, []);
    const _meta = { trunkline: { agents: true } };
    const first = await editor.ask("session/list", { _meta });
    const all = [...first.sessions];
    assert.deepEqual(
      all.map(({ title, _meta: { trunkline } }) => [title, trunkline]),
      [1, 2, 3].map((count) => [
        `Task ${count}`,
        { origin: "agent", agent: "other", agentSessionId: `terminal-${count}` },
      ]),
    );
    assert.match(JSON.stringify(first._meta), /'plain' does not list its sessions/);
    const [{ sessionId }, , { sessionId: broken }] = all;
    const params = { sessionId, cwd: place.folder, mcpServers: [] };
    await editor.ask("session/load", params);
    await editor.update(({ content }) => content?.text === "What is the past?");
    const said = await editor.update(({ content }) =>
      content?.text?.startsWith("This is the past"),
    );
    assert.equal(said._meta.trunkline.imported, true);
    await editor.prompt(sessionId, "recall");
    assert.match(editor.text(), /loaded$/);
    // It is ours now: it is in our list, and not among theirs.
    const after = await editor.ask("session/list", { _meta });
    assert.deepEqual(
      after.sessions.map((one: { sessionId: string }) => one.sessionId === sessionId),
      [true, false, false],
    );
    // One that the agent cannot load leaves nothing, and can be tried again.
    for (const _ of [1, 2]) {
      const failed = editor.ask("session/load", { ...params, sessionId: broken });
      await assert.rejects(failed, /It is in use|cannot load/);
    }
    await editor.ask("session/delete", { sessionId });
    await editor.ask("session/load", params);
  });

  it("are not taken over while a program of the agent runs in the folder, unless forced", async () => {
    using place = new Place();
    const terminal = spawn(process.execPath, [AGENT], { cwd: place.folder });
    try {
      terminal.stdin.write(`${JSON.stringify({ id: 1, method: "session/list", params: {} })}\n`);
      await once(terminal.stdout, "data");
      await using editor = new AcpEditor(place, { config: { agent: "other", agents } });
      await editor.hello();
      const { sessions } = await editor.ask("session/list", {
        _meta: { trunkline: { agents: ["other"] } },
      });
      const params = { sessionId: sessions[0].sessionId, cwd: place.folder, mcpServers: [] };
      await assert.rejects(editor.ask("session/load", params), (error: Error) => {
        const { data } = error as Error & { data?: unknown };
        const text = `${error.message} ${JSON.stringify(data)}`;
        assert.match(text, new RegExp(`Process ${terminal.pid} .*may have this session open`));
        return true;
      });
      await editor.ask("session/load", { ...params, _meta: { trunkline: { force: true } } });
    } finally {
      terminal.kill();
      await once(terminal, "close");
    }
  });
});
