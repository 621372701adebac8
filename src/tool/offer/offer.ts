import { Notices } from "../notices.ts";
import type { Prompt } from "../prompt.ts";
import { Clients } from "./clients.ts";
import { Registry } from "./registry.ts";
import { Resources } from "./resources.ts";
import type { MissingSource, ToolSources } from "./tool-sources.ts";
import { Toolbox, type ToolboxOptions } from "../toolbox.ts";

/** All that the capabilities offer and the doors pass on. */
export class Offer implements Required<ToolSources> {
  readonly tools: Toolbox;
  readonly resources: Resources;
  readonly prompts = new Registry<Prompt>("prompt");
  readonly notices = new Notices();
  readonly clients = new Clients();
  readonly #sources: ToolSources[] = [];

  constructor(options: ToolboxOptions = {}) {
    this.tools = new Toolbox({ ...options, sources: this });
    this.resources = new Resources(options.report);
  }

  /**
   * Await it before answering a list: servers may have to be started and asked first. The wait is
   * bounded; undefined when there is nothing to wait for.
   */
  known(): Promise<void> | undefined {
    const all = this.#sources.map((each) => each.known()).filter((wait) => wait !== undefined);
    return all.length <= 1 ? all[0] : Promise.all(all).then(() => {});
  }

  arrival(): Promise<void> | undefined {
    const all = this.#sources.map((each) => each.arrival?.()).filter((one) => one !== undefined);
    return all.length <= 1 ? all[0] : Promise.race(all);
  }

  missing(): readonly MissingSource[] {
    return this.#sources.flatMap((each) => each.missing?.() ?? []);
  }

  /** Lists, and calls of tools that are not known yet, wait for these sources. */
  waitFor(sources: ToolSources | ToolSources["known"]): void {
    this.#sources.push(typeof sources === "function" ? { known: sources } : sources);
  }
}
