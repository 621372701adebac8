import { join } from "node:path";

import type { Json } from "../acp-app.ts";
import { Program } from "../program.ts";
import type { ClientCommand, ClientReport, Target } from "./client-lines.ts";
import type { Member, Outcome } from "./member.ts";
import { AskedFor, type View, viewOf, viewOfEvents } from "./shown.ts";

/** A client in a process of its own that is told what to do by lines. */
class ToldClient {
  readonly program: Program;
  readonly asked = new AskedFor();
  readonly updates: Json[] = [];
  readonly events: Json[] = [];
  readonly answers = new Map<number, ClientReport>();
  isJoined = false;
  /** Requests and prompts so far. */
  #asked = 0;
  #read = 0;

  constructor(script: string) {
    this.program = new Program([], { built: join(import.meta.dirname, script) });
    this.program.child.stdout.on("data", () => this.#look());
  }

  async join(target: Target): Promise<void> {
    await this.program.until(() => !this.isJoined);
    this.tell({ connect: target });
    await this.program.until(() => this.isJoined);
  }

  tell(command: ClientCommand): void {
    this.program.write(command);
  }

  async ask(method: string, params: object): Promise<ClientReport> {
    const number = ++this.#asked;
    this.tell({ ask: { number, method, params } });
    await this.program.until(() => this.answers.has(number));
    return this.answers.get(number) as ClientReport;
  }

  #look(): void {
    for (const line of this.program.lines.slice(this.#read)) {
      this.#read++;
      const report = JSON.parse(line) as ClientReport;
      if (report.reset === true) this.updates.length = 0;
      if (report.joined === true) this.isJoined = true;
      if (report.lost === true) this.isJoined = false;
      if (report.update !== undefined) this.updates.push(report.update);
      if (report.events !== undefined) this.events.push(...report.events);
      if (report.asked !== undefined) this.asked.ask(report.asked);
      if (report.withdrawn !== undefined) this.asked.withdraw(report.withdrawn);
      if (report.answered !== undefined) this.answers.set(report.answered, report);
    }
  }
}

/** A client that uses the official SDK on a WebSocket of the gateway. */
export class SdkMember implements Member {
  readonly #client = new ToldClient("sdk-client.ts");
  /** Prompts of its own since it has loaded the session. */
  #own: string[] = [];

  get program(): Program {
    return this.#client.program;
  }

  get pid(): number {
    return this.program.child.pid ?? 0;
  }

  get asked(): AskedFor {
    return this.#client.asked;
  }

  get view(): View {
    const said = { text: "", prompts: [...this.#own] };
    for (const { sessionUpdate, content } of this.#client.updates) {
      if (sessionUpdate === "agent_message_chunk") said.text += content.text;
      if (sessionUpdate === "user_message_chunk") said.prompts.push(content.text);
    }
    return viewOf(said.text, said.prompts);
  }

  /** Also after its connection was lost: it loads the session, which shows everything again. */
  async join(target: Target): Promise<void> {
    this.#own = [];
    await this.#client.join(target);
  }

  async prompt(words: string): Promise<Outcome> {
    this.#own.push(words);
    const { result, error } = await this.#client.ask("session/prompt", {
      prompt: [{ type: "text", text: words }],
    });
    return error === undefined ? (result as Outcome) : { error };
  }

  cancel(): void {
    this.#client.tell({ cancel: true });
  }

  allow(title: string): void {
    this.#client.tell({ answer: title });
  }

  async setMode(modeId: string): Promise<void> {
    const { error } = await this.#client.ask("session/set_mode", { modeId });
    if (error !== undefined) throw new Error(error.message);
  }
}

/** A page of the dashboard. It goes on where it was when its connection was lost. */
export class DashboardMember implements Member {
  readonly #client = new ToldClient("dashboard-client.ts");

  get program(): Program {
    return this.#client.program;
  }

  get pid(): number {
    return this.program.child.pid ?? 0;
  }

  get asked(): AskedFor {
    return this.#client.asked;
  }

  get view(): View {
    return viewOfEvents(this.#client.events.map(({ message }) => message));
  }

  /** Numbers of the events that it got, which are to be all of them, once, in order. */
  get numbers(): readonly number[] {
    return this.#client.events.map(({ seq }) => seq);
  }

  join(target: Target): Promise<void> {
    return this.#client.join(target);
  }

  async prompt(words: string): Promise<Outcome> {
    const { error } = await this.#client.ask("prompt", { text: words });
    return error === undefined ? undefined : { error };
  }

  cancel(): void {
    this.#client.tell({ cancel: true });
  }

  allow(title: string): void {
    this.#client.tell({ answer: title });
  }
}
