import { setTimeout as delay } from "node:timers/promises";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import type { Log } from "../../base/log.ts";
import { answerOf } from "../../protocol/bus/answer.ts";
import type { BusClient } from "../../protocol/bus/connect.ts";
import type { PromptDefinition, ToolDefinition } from "../../protocol/bus/plugin.gen.ts";
import { approving, covers, type ProvidedNames } from "./permissions.ts";
import type { PluginLink } from "./plugin-link.ts";
import type { PluginSettings } from "./settings.ts";

/** Milliseconds between two changes: a plugin that changes all the time must not keep clients busy. */
const BETWEEN = 200;
const ANY: readonly string[] = ["*"];

export interface KnownOfferOptions {
  readonly id: string;
  readonly log: Log;
  /** The tools and prompts that were approved; any where these are left out. */
  readonly provides?: ProvidedNames | undefined;
  /** Milliseconds for each list. */
  readonly timeout: number;
  /** Cancels the requests. */
  readonly signal: AbortSignal;
  /** The link to the running plugin; undefined while it is down. */
  readonly link: () => Pick<PluginLink, "control"> | undefined;
  /** Called when its offer has changed since it came up. */
  readonly changed: () => void;
}

/** The offer of a plugin, as of its start or of its last registration. */
export class KnownOffer {
  current: PluginOffer | undefined;
  readonly #options: KnownOfferOptions;
  /** It has registered since it was last asked. */
  #isOutdated = false;
  #isAsking = false;

  constructor(current: PluginOffer | undefined, options: KnownOfferOptions) {
    this.current = current;
    this.#options = options;
  }

  /** Asks one that has just been started. */
  async ask(link: Pick<PluginLink, "control">): Promise<void> {
    this.current = await this.#offerOf(link);
  }

  /** It is up. If it has registered since its offer was read, that is read again. */
  isUp(): void {
    if (this.#isOutdated) this.outdated();
  }

  /** It may offer something else by now. */
  outdated(): void {
    this.#isOutdated = true;
    const link = this.#options.link();
    if (link === undefined || this.#isAsking) return;
    this.#isAsking = true;
    background(this.#askAgain(link), "Asking a plugin what it offers");
  }

  /** Repeats until there was no registration meanwhile. */
  async #askAgain(link: Pick<PluginLink, "control">): Promise<void> {
    const isSame = (): boolean => this.#options.link() === link;
    try {
      while (this.#isOutdated && isSame()) {
        const offer = await this.#offerOf(link);
        // Another process may have said meanwhile what it offers.
        if (!isSame()) break;
        this.current = offer;
        this.#options.changed();
        await delay(BETWEEN, undefined, { ref: false });
      }
    } catch (error) {
      if (isSame()) this.#options.log.warn("plugin.not-listed", { error });
    } finally {
      this.#isAsking = false;
      if (!isSame()) this.isUp();
    }
  }

  async #offerOf({ control }: Pick<PluginLink, "control">): Promise<PluginOffer> {
    const { id, timeout, signal, log } = this.#options;
    this.#isOutdated = false;
    const offer = this.#approved(await askForOffer(control, id, timeout, signal));
    const { leftOut } = offer;
    if (leftOut.length > 0) {
      log.warn("plugin.offers-too-much", { leftOut: leftOut.length, names: leftOut.slice(0, 10) });
    }
    return offer;
  }

  #approved(offer: PluginOffer): PluginOffer {
    const { id, log, provides } = this.#options;
    const named =
      (approved = ANY) =>
      (one: { readonly name: string }) =>
        covers(approved, one.name);
    const tools = offer.tools.filter(named(provides?.tools));
    const prompts = offer.prompts.filter(named(provides?.prompts));
    const kept = new Set<object>([...tools, ...prompts]);
    const more = [...offer.tools, ...offer.prompts].filter((one) => !kept.has(one));
    if (more.length > 0) {
      const names = more.slice(0, 10).map(({ name }) => name.slice(0, 100));
      log.warn("plugin.not-approved", { names, next: approving(id) });
    }
    return { ...offer, tools, prompts };
  }
}

/** Bytes of an answer that is a word or two, and of one that is a list. */
export const SHORT_ANSWER = 64 * 1024;
const LONG_ANSWER = 4 * 1024 * 1024;
/** Characters of a plugin's message that are passed on. */
export const LONGEST_REASON = 1_000;

/** Registers and boots a plugin that was started. Throws the reason if it refuses or cannot boot. */
export async function introduce(
  client: Pick<BusClient, "ask">,
  { id, config }: PluginSettings,
  timeout: number,
  signal: AbortSignal,
): Promise<void> {
  const it = `Plugin '${id}'`;
  const asking = { timeout, signal, most: SHORT_ANSWER };
  const registered = await client.ask({ case: "register", value: { id } }, asking);
  const { accepted, rejectReason } = answerOf(it, registered, "register");
  if (!accepted) throw refusal("It refused to be registered", rejectReason);
  const booted = await client.ask({ case: "boot", value: { config } }, asking);
  const { ready, error } = answerOf(it, booted, "boot");
  if (!ready) throw refusal("It could not boot", error);
}

/** Asks a plugin what it offers. */
export async function askForOffer(
  client: Pick<BusClient, "ask">,
  id: string,
  timeout: number,
  signal: AbortSignal,
): Promise<PluginOffer> {
  const it = `Plugin '${id}'`;
  const listing = { timeout, signal, most: LONG_ANSWER };
  const tools = await client.ask({ case: "listTools", value: {} }, listing);
  const prompts = await client.ask({ case: "listPrompts", value: {} }, listing);
  return boundedOffer(
    answerOf(it, tools, "listTools").tools,
    // Older plugins do not know the request.
    prompts.response.case === "listPrompts" ? prompts.response.value.prompts : [],
  );
}

function refusal(what: string, reason: string): TrunklineError {
  const why = reason.slice(0, LONGEST_REASON) || "no reason given";
  return new TrunklineError("unavailable", `${what}: ${why}`);
}

/** What a plugin offers. */
export interface PluginOffer {
  readonly tools: readonly ToolDefinition[];
  readonly prompts: readonly PromptDefinition[];
  /** What it offers but is left out because of its size. */
  readonly leftOut: readonly string[];
}

/** Tools, and prompts, of one plugin. */
const MOST = 1_000;
/** Characters of one of them, and of all together: every list of every client has them. */
const LONGEST = 128 * 1024;
const LONGEST_ALL = 1024 * 1024;

/** The offer of a plugin within the limits: every client gets all of it. */
function boundedOffer(
  tools: readonly ToolDefinition[],
  prompts: readonly PromptDefinition[],
): PluginOffer {
  let left = LONGEST_ALL;
  const leftOut: string[] = [];
  const bounded = <T extends { readonly name: string }>(all: readonly T[]): T[] =>
    all.filter((one, index) => {
      const { length } = JSON.stringify(one);
      const isIn = index < MOST && length <= Math.min(LONGEST, left);
      if (isIn) left -= length;
      else leftOut.push(one.name.slice(0, 100));
      return isIn;
    });
  return { tools: bounded(tools), prompts: bounded(prompts), leftOut };
}
