// A program of somebody else's that uses the official SDK on a WebSocket. It is told what to do by lines
// on its standard input, and says in lines what it is shown.
import { createInterface } from "node:readline";

import { type Context, loadSdk, webSocketStream } from "../../acp/oracle.ts";
import type { ClientCommand, ClientReport, Target } from "./client-lines.ts";

const answers = new Map<string, () => void>();
let connected: Context | undefined;
let session = "";

const tell = (report: ClientReport): void =>
  void process.stdout.write(`${JSON.stringify(report)}\n`);

async function connect({ acp, headers, sessionId, cwd }: Target): Promise<void> {
  const sdk = await loadSdk();
  const app = sdk
    .client({ name: "sdk" })
    .onNotification("session/update", ({ params }) => tell({ update: params.update }))
    .onRequest("session/request_permission", ({ params, signal }) => {
      const { title } = params.toolCall as { title: string };
      tell({ asked: title });
      signal.addEventListener("abort", () => tell({ withdrawn: title }));
      return new Promise((resolve) => {
        const outcome = { outcome: "selected", optionId: "once" };
        answers.set(title, () => resolve({ outcome }));
      });
    });
  const lost = Promise.withResolvers<void>();
  const { readable, writable } = await webSocketStream({ acp, headers });
  const watched = readable.pipeThrough(new TransformStream({ flush: () => lost.resolve() }));
  session = sessionId;
  await app
    .connectWith({ readable: watched, writable }, async (context) => {
      await context.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
      tell({ reset: true });
      await context.request("session/load", { sessionId, cwd, mcpServers: [] });
      connected = context;
      tell({ joined: true });
      await lost.promise;
    })
    .catch(() => {});
  connected = undefined;
  tell({ lost: true });
}

async function ask(number: number, method: string, params: object): Promise<void> {
  try {
    const result: unknown = await connected?.request(method, { sessionId: session, ...params });
    tell({ answered: number, result });
  } catch (error) {
    const { message, data } = error as { message: string; data?: unknown };
    tell({ answered: number, error: { message, data } });
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const command = JSON.parse(line) as ClientCommand;
    if (command.connect !== undefined) void connect(command.connect);
    else if (command.ask !== undefined) {
      const { number, method, params } = command.ask;
      void ask(number, method, params);
    } else if (command.cancel === true) {
      void connected?.notify("session/cancel", { sessionId: session });
    } else if (command.answer !== undefined) answers.get(command.answer)?.();
  })
  .on("close", () => process.exit());
