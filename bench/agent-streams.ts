import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { RunServer } from "./remote-run/run-server.ts";
import { DeltaModel } from "./servers/delta-model.ts";

const OURS = "trunkline";
/** What the fastest model that was measured gives, in microseconds a piece. */
const MODEL_GIVES = Math.round(1_000_000 / 4_080);

/** The built-in agent, whose model answers in many small pieces. */
export const agentDeltas: Bench = {
  name: "agent-deltas",
  plan: async ({ quick }) => {
    const count = quick ? 1_000 : 10_000;
    return {
      describe: `${count} pieces of a model's answer, each stored before it is shown to a client of /acp`,
      rounds: quick ? 2 : 5,
      quantities: [
        { key: "cpu", label: "CPU a piece", unit: "µs", digits: 0 },
        { key: "wall", label: "time a piece", unit: "µs", digits: 0 },
      ],
      variants: [{ name: OURS, measure: () => measureDeltas(count) }],
      comparisons: [
        { quantity: "cpu", of: OURS, atMost: 100 },
        { quantity: "wall", of: OURS, atMost: MODEL_GIVES },
      ],
    };
  },
};

/** An external agent that sends more than the rate of updates allows. */
export const agentFlood: Bench = {
  name: "agent-flood",
  plan: async ({ quick }) => {
    const count = quick ? 5_000 : 20_000;
    return {
      describe: `${count} updates of 64 characters at once from an external agent, with the default limits`,
      rounds: quick ? 2 : 5,
      quantities: [
        { key: "seconds", label: "until all is shown", unit: "s", digits: 1 },
        { key: "messages", label: "messages", unit: "", digits: 0 },
      ],
      variants: [{ name: OURS, measure: () => measureFlood(count) }],
      comparisons: [{ quantity: "seconds", of: OURS, atMost: 2 }],
    };
  },
};

async function measureDeltas(count: number): Promise<Sample> {
  await using model = await DeltaModel.start(count);
  await using server = await RunServer.start(undefined, {
    agent: undefined,
    models: model.settings,
  });
  const said = Array.from({ length: count }, (_, at) => `${at} `).join("");
  // The first answer also loads the library for models.
  const first = await prompt(server, "go", said);
  const { cpu, seconds } = await prompt(server, "go", said, first.sessionId);
  return { cpu: cpu / count, wall: (seconds * 1_000_000) / count };
}

async function measureFlood(count: number): Promise<Sample> {
  await using server = await RunServer.start(undefined, { limits: {} });
  const pieces = Array.from({ length: count }, (_, at) => `${at} `.padStart(64, "word "));
  const { seconds, messages } = await prompt(server, `stream ${count} 64`, pieces.join(""));
  return { seconds, messages };
}

/** Prompts, and checks that all was said. */
async function prompt(server: RunServer, text: string, expected: string, session?: string) {
  const { ide, pid } = server;
  const created =
    session ?? (await ide.ask("session/new", { cwd: "/tmp", mcpServers: [] })).sessionId;
  const sessionId = String(created);
  const [since, cpu, begun] = [ide.messages.length, cpuTime(pid), performance.now()];
  await ide.ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  const seconds = (performance.now() - begun) / 1000;
  const chunks = ide.messages
    .slice(since)
    .flatMap(({ params }) => params?.update?.content?.text ?? []);
  if (chunks.join("") !== expected) throw new Error("Some of what was said was lost");
  return { sessionId, seconds, cpu: cpuTime(pid) - cpu, messages: chunks.length };
}
