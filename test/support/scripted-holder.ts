import { background } from "../../src/base/background.ts";
import type { Channel } from "../../src/wire/channel.ts";
import { memoryPair } from "../../src/wire/channel/memory.ts";
import type { Json } from "./acp-app.ts";
import { RecordingSink } from "./recording-sink.ts";

/** A process that has the session open. It gives scripted answers, and records other messages. */
export class ScriptedHolder {
  readonly sink = new RecordingSink();
  readonly channel: Channel<string>;
  readonly joining: Channel<string>;
  /** It answers nothing. */
  isStopped = false;
  /** How often it was asked whether it still answers. */
  pings = 0;

  constructor(answers: Readonly<Record<string, unknown>> = {}) {
    [this.channel, this.joining] = memoryPair();
    const all: Readonly<Record<string, unknown>> = {
      ...{ initialize: {}, "_trunkline/ping": {} },
      ...answers,
    };
    this.channel.receive({
      message: (text) => {
        const { id, method }: Json = JSON.parse(text);
        if (method === "_trunkline/ping") this.pings++;
        if (this.isStopped) return undefined;
        const result = all[method];
        if (id !== undefined && result !== undefined) this.say({ id, result });
        return this.sink.message(text);
      },
      fault: (fault) => this.sink.fault(fault),
      end: (error) => this.sink.end(error),
    });
  }

  say(message: object): void {
    background(this.channel.send(JSON.stringify({ jsonrpc: "2.0", ...message })), "Saying");
  }

  /** An update as a holder writes it. */
  update(text: string, seq?: number): void {
    const meta = seq === undefined ? "" : `,"_meta":{"trunkline":{"seq":${seq}}}`;
    const head = `{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"s1"`;
    background(this.channel.send(`${head},"update":{"text":"${text}"}${meta}}}`), "Saying");
  }

  async die(): Promise<void> {
    await this.channel[Symbol.asyncDispose]();
  }

  async heard(method: string): Promise<Json> {
    const isIt = (text: string): boolean => JSON.parse(text).method === method;
    await this.sink.until(({ messages }) => messages.some(isIt));
    return JSON.parse(this.sink.messages.find(isIt) ?? "");
  }
}
