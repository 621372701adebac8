import { visibleLine } from "../../base/text/visible.ts";
import type { AttachedSession } from "../../protocol/acp/attach.ts";

type Json = Readonly<Record<string, unknown>>;

/** What may be shown of a session: the agent, its model and mode, the used context, and the cost. */
export class Status {
  readonly #agent: string;
  #model: string | undefined;
  #mode: string | undefined;
  #modes: readonly Json[] = [];
  #context: { readonly used: number; readonly size: number } | undefined;
  #cost: string | undefined;

  constructor(agent: string) {
    this.#agent = agent;
  }

  get model(): string | undefined {
    return this.#model;
  }

  /** Ids of the modes, the current one first. */
  get modes(): readonly string[] {
    const ids = this.#modes.map(({ id }) => String(id));
    const at = ids.indexOf(this.#mode ?? "");
    return at < 0 ? ids : [...ids.slice(at), ...ids.slice(0, at)];
  }

  opened(settings: AttachedSession["settings"]): void {
    const { models, modes, configOptions } = settings ?? {};
    const current = models?.currentModelId;
    if (typeof current === "string") this.#model = current;
    if (typeof modes?.currentModeId === "string") this.#mode = modes.currentModeId;
    if (Array.isArray(modes?.availableModes)) this.#modes = modes.availableModes as Json[];
    this.#options(configOptions);
  }

  update(update: Json): void {
    const { sessionUpdate, used, size, cost, configOptions, currentModeId } = update;
    if (sessionUpdate === "config_option_update") this.#options(configOptions);
    if (sessionUpdate === "current_mode_update" && typeof currentModeId === "string") {
      this.#mode = currentModeId;
    }
    if (sessionUpdate !== "usage_update") return;
    if (typeof used === "number" && typeof size === "number") this.#context = { used, size };
    const { amount, currency = "USD" } = (cost ?? {}) as Json;
    if (typeof amount === "number") this.#cost = costText(amount, String(currency));
  }

  /** The line; `milliseconds` is the time of the turn, if one runs. */
  text(milliseconds?: number, more: readonly (string | undefined)[] = []): string {
    const context = this.#context;
    const parts = [
      this.#agent,
      this.#model,
      this.#mode,
      context && contextText(context),
      this.#cost,
      milliseconds === undefined ? undefined : seconds(milliseconds),
      ...more,
    ];
    return parts
      .filter((part) => part !== undefined)
      .map(visibleLine)
      .join(" \u00b7 ");
  }

  #options(options: unknown): void {
    const all = Array.isArray(options) ? (options as Json[]) : [];
    const model = all.find(({ category }) => category === "model")?.currentValue;
    if (typeof model === "string") this.#model = model;
    const mode = all.find(({ category }) => category === "mode")?.currentValue;
    if (typeof mode === "string") this.#mode = mode;
  }
}

function costText(amount: number, currency: string): string {
  const said = amount.toFixed(amount < 1 ? 3 : 2);
  return currency === "USD" ? `$${said}` : `${said} ${currency}`;
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
