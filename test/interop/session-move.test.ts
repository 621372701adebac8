// Real agents' sessions move back and forth, while programs are killed and connections cut.
import assert from "node:assert/strict";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { remoteAcpChannel } from "../../src/app/door/acp-channel.ts";
import { closeAt } from "../../src/protocol/acp/attach.ts";
import { FakeLlm } from "../agent/fake-llm.ts";
import { SESSION } from "../support/moving-rig.ts";
import { Program } from "../support/program.ts";
import {
  POINTS_BACK,
  POINTS_THERE,
  type StrikePoint,
  StruckMoves,
} from "../support/struck-moves.ts";
import { rounds } from "../support/full-run.ts";
import { to } from "./fake-prompts.ts";
import { claude, codex, notHere, opencode, type OtherAgent } from "./other-agents.ts";

const SECRET = "the word is xylophone";
/** opencode takes half a minute to start where the machine is busy. */
const PATIENT = Object.fromEntries(
  ["initialize", "session/new", "session/load"].map((name) => [name, { timeout: 240_000 }]),
);

/** Which of the four agents has the next point. opencode, the last of them, starts slowest. */
const TURNS = [3, 1, 2, 0, 0, 1, 2, 0];

describe("a session that moves back and forth", { timeout: 1_800_000 }, () => {
  // Fifty in all, each at a point of its own, of four agents; each agent moves at least ten times.
  const most = rounds({ few: 2, all: Infinity });
  const builtIn = undefined;
  const agents = [builtIn, claude, codex, opencode];
  for (const [at, agent] of agents.entries()) {
    const name = agent?.name ?? "the built-in agent";
    const its = (points: readonly StrikePoint[]): StrikePoint[] => {
      return points.filter((_, n) => TURNS[n % TURNS.length] === at).slice(0, most);
    };
    const [there, back] = [its(POINTS_THERE), its(POINTS_BACK)];
    const count = there.length + back.length;
    it(`goes on with ${name} after each of ${count} kills and cuts`, async (t) => {
      const command = await agent?.install();
      if (agent !== undefined && command === undefined) return t.skip(notHere(agent));
      const points = there.flatMap((each, n) => [each, ...back.slice(n, n + 1)]);
      await goesOn(agent, command ?? "", points);
    });
  }
});

async function goesOn(
  agent: OtherAgent | undefined,
  command: string,
  points: readonly StrikePoint[],
): Promise<void> {
  await using llm = await FakeLlm.start([
    to(SECRET, { content: "I keep it in mind." }),
    to("tell me the word", { content: "You said it." }),
    { content: "A title", when: () => true },
  ]);
  const models = {
    default: "work/large",
    providers: {
      work: { type: "openai-compatible", baseUrl: `${llm.url}/v1`, models: ["large"] },
    },
  };
  // An agent that is killed leaves files there.
  await using temporary = await mkdtempDisposable(join(tmpdir(), "trunkline-move-"));
  const entry = agent?.entry(command, llm.url);
  const env = { ...entry?.env, TMPDIR: temporary.path };
  const agents = agent && { [agent.name]: { ...entry, env } };
  const seed = Number(process.env["TRUNKLINE_MOVE_SEED"] ?? Date.now() % 1_000_000);
  const config = { models, limits: { messages: PATIENT } };
  await using moves = await StruckMoves.begin(seed, { config, ...(agents ? { agents } : {}) });
  const { laptop, top } = moves.rig;
  const ask = async (prompt: string): Promise<string> => {
    const args = ["chat", prompt, "--session", SESSION];
    await using chat = new Program(args, { env: laptop.env as never, cwd: top });
    assert.equal(await chat.exit, 0, chat.stderr);
    return chat.lines.join("\n");
  };
  /** Whether the agent still knows what was said, wherever it is now. */
  const knows = async (): Promise<void> => {
    const before = llm.requests.length;
    const said = await ask("tell me the word");
    assert.match(said, /You said it\./, `seed ${seed}`);
    const asked = JSON.stringify(llm.requests.slice(before));
    assert.ok(asked.includes(SECRET), `seed ${seed}: it has forgotten`);
    // Only an agent whose own session came along needs no text.
    if (agent !== undefined)
      assert.doesNotMatch(said, /had to start a new session/, `seed ${seed}`);
    // The gateway keeps it open, and only this test writes to it between its moves.
    const { TRUNKLINE_TOKEN: token } = laptop.env;
    if (moves.isThere) await closeAt(await remoteAcpChannel(moves.rig.url, token), SESSION, "test");
    await moves.note();
  };
  await ask(SECRET);
  await moves.note();
  await moves.move();
  await knows();
  await moves.move();
  for (const [n, point] of points.entries()) {
    for (let tries = 1; !(await moves.struckAt(point, tries)); tries++) {
      const { step, at, who } = point;
      assert.ok(tries < 6, `the move was over before it was struck: ${step} ${at}, ${who}`);
      await moves.move();
    }
    if (n < 2 || n >= points.length - 2) await knows();
  }
}
