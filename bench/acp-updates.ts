import { join } from "node:path";

import { AcpSocket } from "../test/support/acp-socket.ts";
import { Packages } from "../test/support/packages.ts";
import type { Bench, Sample } from "./harness/bench.ts";
import { cpuTime } from "./harness/cpu-time.ts";
import { Program } from "./harness/program.ts";
import { RunServer } from "./harness/run-server.ts";

const AGENT = join(import.meta.dirname, "../test/support/acp-agent.mjs");
const BARE = "bare ws relay";
const SDK = "ACP SDK 2.4.0 AcpServer";
const OURS = "trunkline /acp";

/** What an agent says, on its way to an editor over a WebSocket: the server's processor time for it. */
export const acpUpdates: Bench = {
  name: "acp-updates",
  plan: async ({ quick, offline }) => {
    const messages = quick ? 5_000 : 20_000;
    const relay = (file: string) => ({ measure: () => measureRelay(file, messages) });
    const sdk = new Packages("test/acp");
    const hasSdk = !quick && !offline;
    if (hasSdk) await sdk.install();
    return {
      describe: `${messages} updates from an agent's standard streams to a WebSocket; ours are on disk before they are sent`,
      rounds: quick ? 5 : 9,
      quantities: [
        { key: "cpu", label: "CPU an update", unit: "µs", digits: 1 },
        { key: "wall", label: "time an update", unit: "µs", digits: 1 },
      ],
      variants: [
        { name: BARE, ...relay("acp-relay-bare.ts") },
        ...(hasSdk ? [{ name: SDK, ...relay("acp-relay-sdk.ts") }] : []),
        { name: OURS, measure: () => measureOurs(messages) },
      ],
      comparisons: [
        {
          row: "ACP update through a session of `serve`",
          ...{ quantity: "cpu", of: OURS, against: BARE, atMost: 3, peers: "8.7 ¹, 5.8 ²" },
        },
        { quantity: "cpu", of: SDK, against: BARE },
      ],
    };
  },
};

async function measureRelay(file: string, messages: number): Promise<Sample> {
  const args = [`bench/servers/${file}`, process.execPath, AGENT];
  await using server = new Program(args, { more: ["ipc"] });
  const port = (await server.nextMessage()) as number;
  using editor = await AcpSocket.connect(`ws://127.0.0.1:${port}/acp`);
  return await measure(editor, server.pid, messages);
}

async function measureOurs(messages: number): Promise<Sample> {
  await using server = await RunServer.start();
  return await measure(server.ide, server.pid, messages);
}

async function measure(editor: AcpSocket, pid: number, messages: number): Promise<Sample> {
  const { sessionId } = await editor.ask("session/new", { cwd: "/tmp", mcpServers: [] });
  const stream = async (count: number): Promise<void> => {
    const since = editor.messages.length;
    const prompt = [{ type: "text", text: `stream ${count}` }];
    await editor.ask("session/prompt", { sessionId, prompt });
    const said = editor.messages
      .slice(since)
      .flatMap(({ params }) => params?.update?.content?.text ?? []);
    const expected = Array.from({ length: count }, (_, at) => `${at} `);
    if (said.join() !== expected.join()) throw new Error(`Of ${count} updates some were lost`);
  };
  await stream(messages / 4);
  const [cpu, begun] = [cpuTime(pid), performance.now()];
  await stream(messages);
  return {
    cpu: (cpuTime(pid) - cpu) / messages,
    wall: ((performance.now() - begun) * 1000) / messages,
  };
}
