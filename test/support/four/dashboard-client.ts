// What a page of the dashboard does, in a process of its own: it reads the live events of a session and
// comes back with `Last-Event-ID` as a browser does. Told what to do by lines on its standard input.
import { createInterface } from "node:readline";

import type { Json } from "../acp-app.ts";
import { DashboardPage } from "../dashboard-page.ts";
import type { ClientCommand, ClientReport, Target } from "./client-lines.ts";

let page: DashboardPage | undefined;
let session = "";
let lastId: string | undefined;
/** Open permission requests: their ids by their titles. */
let asks = new Map<string, string>();

const tell = (report: ClientReport): void =>
  void process.stdout.write(`${JSON.stringify(report)}\n`);

async function connect({ url, headers, sessionId }: Target): Promise<void> {
  page = new DashboardPage(url, headers);
  session = sessionId;
  const live = await page.events(`?session=${sessionId}&after=0`, lastId);
  let read = 0;
  const look = (): undefined => {
    for (const { event, data } of live.events.slice(read)) {
      read++;
      if (event === "session-events") tell({ events: data.events });
      if (event === "session-asks") ask(data.asks);
      if (event === "hello") tell({ joined: true });
    }
    lastId = live.lastId;
  };
  await live.until(look).catch(() => {});
  ask([]);
  tell({ lost: true });
}

function ask(now: readonly Json[]): void {
  const titles = new Map<string, string>(now.map(({ id, toolCall }) => [toolCall.title, id]));
  for (const title of titles.keys()) if (!asks.has(title)) tell({ asked: title });
  for (const title of asks.keys()) if (!titles.has(title)) tell({ withdrawn: title });
  asks = titles;
}

async function post(number: number, action: string, body: object): Promise<void> {
  try {
    const { status, body: said } = (await page?.post(
      `/api/sessions/${session}/${action}`,
      body,
    )) ?? {
      status: 0,
      body: undefined,
    };
    if (status === 200) tell({ answered: number, result: said });
    else tell({ answered: number, error: { message: `${status} ${JSON.stringify(said)}` } });
  } catch (error) {
    tell({ answered: number, error: { message: String(error) } });
  }
}

createInterface({ input: process.stdin })
  .on("line", (line) => {
    const command = JSON.parse(line) as ClientCommand;
    if (command.connect !== undefined) void connect(command.connect);
    else if (command.ask !== undefined) {
      const { number, method, params } = command.ask;
      void post(number, method, params);
    } else if (command.cancel === true) void post(0, "cancel", {});
    else if (command.answer !== undefined) {
      void post(0, "answer", { id: asks.get(command.answer), optionId: "once" });
    }
  })
  .on("close", () => process.exit());
