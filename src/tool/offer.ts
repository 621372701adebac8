import type { Prompt } from "./prompt.ts";
import { Registry } from "./registry.ts";
import { Resources } from "./resources.ts";
import { Toolbox, type ToolboxOptions } from "./toolbox.ts";

/** All that the capabilities offer and the doors pass on. */
export class Offer {
  readonly tools: Toolbox;
  readonly resources = new Resources();
  readonly prompts = new Registry<Prompt>("prompt");

  constructor(options: ToolboxOptions = {}) {
    this.tools = new Toolbox(options);
  }
}
