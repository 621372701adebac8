import { join } from "node:path";
import { describe, it } from "node:test";

import { AcpEditor, Place } from "../support/acp-editor.ts";
import { runningAt } from "../support/running-at.ts";
import { until } from "../support/until.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");

/** An editor whose agent never answers a method. */
function editorWith(place: Place, hangs?: string): AcpEditor {
  const args = [AGENT, "--loads", ...(hangs === undefined ? [] : [`--hangs=${hangs}`])];
  const other = { command: process.execPath, args };
  return new AcpEditor(place, { config: { agent: "other", agents: { other } } });
}

function hasAgent({ home }: Place): boolean {
  return runningAt(home).some(({ command }) => command.includes("acp-agent.mjs"));
}

// AcpEditor waits without an end until all that was started has gone.
describe("an editor that leaves", { timeout: 300_000, concurrency: true }, () => {
  for (const method of ["initialize", "session/new"]) {
    it(`waits no longer for an agent that does not answer ${method}`, async () => {
      using place = new Place();
      await using editor = editorWith(place, method);
      await editor.hello();
      editor.post("session/new", { cwd: place.folder, mcpServers: [] });
      await until(() => hasAgent(place));
    });
  }

  it("waits no longer for an agent that does not answer session/load", async () => {
    using place = new Place();
    const first = editorWith(place);
    const sessionId = await first.begin();
    await first.prompt(sessionId, "say hello");
    await first[Symbol.asyncDispose]();
    await using editor = editorWith(place, "session/load");
    await editor.hello();
    editor.post("session/load", { sessionId, cwd: place.folder, mcpServers: [] });
    await until(() => hasAgent(place));
  });
});
