import { EventEmitter, once } from "node:events";

import type { FrameFault, Sink } from "../../src/wire/channel.ts";

/** A sink that keeps what it is given and lets a test wait for it. */
export class RecordingSink implements Sink<string> {
  readonly messages: string[] = [];
  readonly faults: FrameFault[] = [];
  readonly ends: (Error | undefined)[] = [];
  /** What `message` returns: a promise makes the channel hold its input. */
  hold: Promise<void> | undefined;
  readonly #changed = new EventEmitter();

  message(message: string): void | Promise<void> {
    this.messages.push(message);
    this.#changed.emit("change");
    return this.hold;
  }

  fault(fault: FrameFault): void {
    this.faults.push(fault);
    this.#changed.emit("change");
  }

  end(error?: Error): void {
    this.ends.push(error);
    this.#changed.emit("change");
  }

  /** Waits until the condition holds; the test's own time limit bounds it. */
  async until(condition: (sink: this) => boolean): Promise<void> {
    while (!condition(this)) await once(this.#changed, "change");
  }
}
