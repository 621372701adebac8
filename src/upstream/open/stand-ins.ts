import { TrunklineError } from "../../base/errors.ts";
import type { Offer } from "../../tool/offer/offer.ts";
import { type Prompt, type Tool, ToolFault } from "../../tool/tool.ts";
import { TRUNKLINE } from "../../rpc/codes.ts";
import type { UpstreamOffer } from "../upstreams.ts";
import { LazyResources } from "../../tool/offer/lazy-resources.ts";
import type { Remembered, RememberedTool } from "./remembered-offer.ts";

/** What is offered before it is there. */
interface StandIn<T> {
  readonly text: () => string;
  readonly remove: () => void;
  real: T | undefined;
}

/**
 * The tools, prompts and resources of other servers. They can be filled from memory: a call of a
 * stand-in opens the servers first, and then what they really offer replaces it.
 */
export class StandIns implements UpstreamOffer {
  readonly #offer: Offer;
  readonly #open: () => Promise<void>;
  readonly #theirs = new Set<Tool | Prompt>();
  readonly #tools = new Map<string, StandIn<Tool>>();
  readonly #prompts = new Map<string, StandIn<Prompt>>();
  #resources: LazyResources | undefined;

  /** `open` has the servers put here what they offer. */
  constructor(offer: Offer, open: () => Promise<void>) {
    this.#offer = offer;
    this.#open = open;
  }

  readonly tools: UpstreamOffer["tools"] = {
    get: (name) => (isWaiting(this.#tools.get(name)) ? undefined : this.#offer.tools.get(name)),
    add: (tool) => {
      const { name } = tool.definition;
      const remove = this.#replace(this.#tools, name, tool, () => textOf(tool));
      return this.#note(tool, remove ?? this.#offer.tools.add(tool));
    },
  };

  readonly prompts: UpstreamOffer["prompts"] = {
    get: (name) => (isWaiting(this.#prompts.get(name)) ? undefined : this.#offer.prompts.get(name)),
    add: (name, prompt) => {
      const text = (): string => JSON.stringify(prompt.definition);
      const remove = this.#replace(this.#prompts, name, prompt, text);
      return this.#note(prompt, remove ?? this.#offer.prompts.add(name, prompt));
    },
  };

  readonly resources: UpstreamOffer["resources"] = {
    add: (provider) => this.#resources?.become(provider) ?? this.#offer.resources.add(provider),
    changed: () => this.#offer.resources.changed(),
    updated: (uri) => this.#offer.resources.updated(uri),
  };

  readonly notices: UpstreamOffer["notices"] = {
    post: (notice) => this.#offer.notices.post(notice),
  };

  readonly instructions: UpstreamOffer["instructions"] = {
    replace: (all) => this.#offer.instructions.replace(all),
  };

  readonly clients: UpstreamOffer["clients"] = {
    onGone: (listener) => this.#offer.clients.onGone(listener),
  };

  /** What is offered now, to be filled in at the next start. */
  remember(): Remembered {
    const tools = this.#offer.tools.list().filter((tool) => this.#theirs.has(tool));
    const prompts = this.#offer.prompts.list().filter((prompt) => this.#theirs.has(prompt));
    return {
      tools: tools.flatMap((tool): RememberedTool[] => {
        const { source } = tool;
        return source === undefined ? [] : [{ ...described(tool), source }];
      }),
      prompts: prompts.map(({ definition, source }) => ({
        definition,
        ...(source === undefined ? {} : { source }),
      })),
      instructions: this.#offer.instructions.list(),
    };
  }

  /** Offers from memory. False when something of ours is in the way: then nothing is offered. */
  fill({ tools, prompts, instructions }: Remembered): boolean {
    const isFree =
      tools.every(({ definition: { name } }) => this.#offer.tools.get(name) === undefined) &&
      prompts.every(({ definition: { name } }) => this.#offer.prompts.get(name) === undefined);
    if (!isFree) return false;
    for (const tool of tools) {
      const { name } = tool.definition;
      const real = this.#real(this.#tools, name);
      const remove = this.#offer.tools.add({
        ...tool,
        call: (args, context) => {
          const ready = real();
          if (!(ready instanceof Promise)) return ready.call(args, context);
          return ready.then((late) => late.call(args, context));
        },
        pass: (passed, args) => {
          const ready = real();
          return !(ready instanceof Promise) && ready.pass?.(passed, args) === true;
        },
        resume: async (taskId, context) => {
          const late = await real();
          if (late.resume !== undefined) return late.resume(taskId, context);
          const what = `The server of '${name}' has ended with the task that it worked on`;
          throw new ToolFault(TRUNKLINE.interrupted.code, `${what}. Call the tool again.`);
        },
      });
      this.#tools.set(name, { text: () => textOf(tool), remove, real: undefined });
    }
    for (const remembered of prompts) {
      const { definition } = remembered;
      const { name } = definition;
      const real = this.#real(this.#prompts, name);
      const remove = this.#offer.prompts.add(name, {
        ...remembered,
        get: async (args, context) => (await real()).get(args, context),
        complete: async (argument) => (await real()).complete?.(argument),
      });
      this.#prompts.set(name, { text: () => JSON.stringify(definition), remove, real: undefined });
    }
    this.#offer.instructions.replace(instructions);
    this.#resources = new LazyResources(this.#open, this.#offer.resources);
    return true;
  }

  /** Removes the stand-ins that no server offers any more. */
  settle(): void {
    for (const all of [this.#tools, this.#prompts]) {
      for (const [name, { real, remove }] of all) {
        if (real !== undefined) continue;
        all.delete(name);
        remove();
      }
    }
  }

  #real<T>(all: ReadonlyMap<string, StandIn<T>>, name: string): () => T | Promise<T> {
    let standIn: StandIn<T> | undefined;
    const late = (): T => {
      if (standIn?.real !== undefined) return standIn.real;
      throw new TrunklineError("not-found", `'${name}' is not offered any more`);
    };
    return () => {
      standIn ??= all.get(name);
      return standIn?.real ?? this.#open().then(late);
    };
  }

  /**
   * Replaces a stand-in by the real one. Undefined where there is none, so that it must be added.
   */
  #replace<T>(
    all: Map<string, StandIn<T>>,
    name: string,
    real: T,
    text: () => string,
  ): (() => void) | undefined {
    const standIn = all.get(name);
    if (standIn === undefined || !isWaiting(standIn)) return undefined;
    if (standIn.text() === text()) {
      standIn.real = real;
      return standIn.remove;
    }
    all.delete(name);
    standIn.remove();
    return undefined;
  }

  #note(entry: Tool | Prompt, remove: () => void): () => void {
    this.#theirs.add(entry);
    return () => {
      this.#theirs.delete(entry);
      remove();
    };
  }
}

function isWaiting(standIn: StandIn<unknown> | undefined): boolean {
  return standIn !== undefined && standIn.real === undefined;
}

function textOf(tool: Tool | RememberedTool): string {
  return JSON.stringify(described(tool));
}

/** The definition alone. */
function described(tool: Tool | RememberedTool): Omit<Tool, "call"> {
  const members = Object.entries(tool).filter(([name]) => name !== "call" && name !== "pass");
  return Object.fromEntries(members) as unknown as Omit<Tool, "call">;
}
