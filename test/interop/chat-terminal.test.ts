import assert from "node:assert/strict";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { FakeLlm } from "../agent/fake-llm.ts";
import { Place } from "../support/acp-editor.ts";
import { Tmux, withoutTmux } from "../support/tmux.ts";
import { to, toCall } from "./fake-prompts.ts";
import { claude, codex, notHere, opencode, type OtherAgent } from "./other-agents.ts";

const PROGRAM = join(import.meta.dirname, "../../dist/trunkline.js");
/** Temporary files may be in /dev/shm, which codex's sandbox hides: it has a /dev of its own. */
const VISIBLE = "/tmp";
const PATIENT = Object.fromEntries(
  ["initialize", "session/new"].map((name) => [name, { timeout: 240_000 }]),
);
const GREETING = "# Good morning\n\nfrom **the model**:\n\n```js\nconst a = 1;\n```\n";

/** Somebody talks with an agent in a terminal, and allows a command by one key. */
async function converse(agent: OtherAgent, command: string): Promise<void> {
  using place = new Place(VISIBLE);
  await using llm = await FakeLlm.start([
    to("greet me", { content: GREETING }),
    ...toCall("run it", { toolCalls: [agent.run("echo ran > ran.txt")] }, "It has run."),
    { content: "A title", when: () => true },
  ]);
  const entry = agent.entry(command, llm.url);
  const config = join(place.path, "config.jsonc");
  const limits = { messages: PATIENT };
  writeFileSync(
    config,
    JSON.stringify({ agent: agent.name, agents: { [agent.name]: entry }, limits }),
  );
  const where = ["--config", config, "--data", join(place.path, "data")];
  await using terminal = new Tmux({
    cwd: place.folder,
    command: [process.execPath, PROGRAM, "chat", ...where],
    env: { HOME: place.home, TMPDIR: place.home },
    columns: 110,
    rows: 40,
  });
  await terminal.shows(/^> \/ for commands/m);
  terminal.enter("greet me");
  await terminal.shows(/^Good morning\n\nfrom the model:\n\n {2}const a = 1;\n/m, /^> \/ for/m);
  terminal.enter("run it");
  await terminal.shows(/^\? /m, /^ {2}y /m);
  terminal.press("Tab", "y");
  await terminal.shows(/^It has run\./m, /^> \/ for/m);
  assert.equal(readFileSync(join(place.folder, "ran.txt"), "utf8"), "ran\n");
  terminal.press("C-d");
  assert.equal(await terminal.ended(), 0);
}

describe("trunkline chat with other people's agents", { skip: withoutTmux() }, () => {
  for (const agent of [claude, codex, opencode]) {
    it(`talks with ${agent.name}, and allows what it asks for by one key`, async (test) => {
      const command = await agent.install();
      if (command === undefined) return test.skip(notHere(agent));
      await converse(agent, command);
    });
  }
});
