import { visibleLine } from "../../base/text/visible.ts";
import type { Attached } from "../../protocol/acp/attach.ts";

type Json = Readonly<Record<string, unknown>>;

/** What the status line tells: the agent, its model, the context that is used, and the time. */
export class Status {
  readonly #agent: string;
  #model: string | undefined;
  #context: { readonly used: number; readonly size: number } | undefined;

  constructor(agent: string) {
    this.#agent = agent;
  }

  opened(settings: Attached["settings"]): void {
    const { models, configOptions } = settings ?? {};
    const current = models?.currentModelId;
    if (typeof current === "string") this.#model = current;
    this.#options(configOptions);
  }

  update(update: Json): void {
    const { sessionUpdate, used, size, configOptions } = update;
    if (sessionUpdate === "config_option_update") this.#options(configOptions);
    if (sessionUpdate !== "usage_update") return;
    if (typeof used === "number" && typeof size === "number") this.#context = { used, size };
  }

  /** The line; `milliseconds` is the time of the turn. */
  text(milliseconds: number, running?: string): string {
    const context = this.#context;
    const parts = [
      this.#agent,
      this.#model,
      context && contextText(context),
      seconds(milliseconds),
    ];
    if (running !== undefined) parts.push(running);
    return parts
      .filter((part) => part !== undefined)
      .map(visibleLine)
      .join(" · ");
  }

  #options(options: unknown): void {
    const all = Array.isArray(options) ? (options as Json[]) : [];
    const model = all.find(({ category }) => category === "model")?.currentValue;
    if (typeof model === "string") this.#model = model;
  }
}

function contextText({ used, size }: { used: number; size: number }): string {
  const share = size > 0 ? ` (${Math.round((used / size) * 100)} %)` : "";
  return `${thousands(used)} of ${thousands(size)} tokens${share}`;
}

function thousands(count: number): string {
  return count < 1000 ? String(count) : `${(count / 1000).toFixed(count < 10_000 ? 1 : 0)}k`;
}

function seconds(milliseconds: number): string {
  const all = Math.floor(milliseconds / 1000);
  return all < 60 ? `${all} s` : `${Math.floor(all / 60)} min ${all % 60} s`;
}
