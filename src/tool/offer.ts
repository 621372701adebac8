import { Notices } from "./notices.ts";
import type { Prompt } from "./prompt.ts";
import { Registry } from "./registry.ts";
import { Resources } from "./resources.ts";
import { Toolbox, type ToolboxOptions } from "./toolbox.ts";

/** All that the capabilities offer and the doors pass on. */
export class Offer {
  readonly tools: Toolbox;
  readonly resources: Resources;
  readonly prompts = new Registry<Prompt>("prompt");
  readonly notices = new Notices();
  readonly #waits: (() => Promise<void> | undefined)[] = [];

  constructor(options: ToolboxOptions = {}) {
    this.tools = new Toolbox(options);
    this.resources = new Resources(options.report);
  }

  /**
   * To be awaited before a list is answered: what is offered may have to be asked for first. Waits
   * a bounded time; undefined when there is nothing to wait for.
   */
  known(): Promise<void> | undefined {
    const all = this.#waits.map((wait) => wait()).filter((wait) => wait !== undefined);
    return all.length <= 1 ? all[0] : Promise.all(all).then(() => {});
  }

  /** Has lists wait for what a capability knows only in a moment. */
  waitFor(wait: () => Promise<void> | undefined): void {
    this.#waits.push(wait);
  }
}
