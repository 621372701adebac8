import { TrunklineError } from "../../base/errors.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { endSpan } from "../../base/trace.ts";
import { Notices } from "../notices.ts";
import type { Profile, ProfileSubject } from "../profile/profile.ts";
import type { Profiles } from "../profile/profiles.ts";
import type { ObservedRequest } from "../call-observer.ts";
import type { Prompt, PromptResult, ResourceResult, ToolContext } from "../tool.ts";
import { Clients } from "./clients.ts";
import { Registry } from "./registry.ts";
import type { KeptResults } from "./kept-results.ts";
import { Resources } from "./resources.ts";
import { ServerInstructions } from "./server-instructions.ts";
import type { MissingSource, ToolSources } from "./tool-sources.ts";
import { Toolbox, type ToolboxOptions } from "../toolbox.ts";

/** All that the capabilities offer and the doors pass on. */
export class Offer implements Required<ToolSources> {
  readonly tools: Toolbox;
  readonly resources: Resources;
  readonly prompts = new Registry<Prompt>("prompt");
  readonly notices = new Notices();
  readonly clients = new Clients();
  readonly instructions: ServerInstructions;
  /** The address of the page where people log in to a server as themselves; undefined without a gateway. */
  loginPage: ((server: string) => string) | undefined;
  #profiles: Profiles | undefined;
  readonly #sources: ToolSources[] = [];
  #kept: Promise<KeptResults> | undefined;

  constructor(options: ToolboxOptions = {}) {
    this.tools = new Toolbox({
      ...options,
      sources: this,
      keep: async (kept, context) => (await this.#keeping()).keep(kept, context),
    });
    this.resources = new Resources(options.report, (principal) => this.opened(principal));
    this.instructions = new ServerInstructions(options.approver);
  }

  /** The profiles of clients. Undefined where none is configured. */
  get profiles(): Profiles | undefined {
    return this.#profiles;
  }

  /** Tells clients that their lists may have changed. */
  set profiles(profiles: Profiles | undefined) {
    this.#profiles = profiles;
    this.tools.changed();
    this.prompts.changed();
    this.resources.changed();
  }

  /** What a client sees of all this; undefined for one that sees everything. */
  profileFor(subject: ProfileSubject): Profile | undefined {
    if (this.#profiles !== undefined) return this.#profiles.choose(subject);
    const name = subject.principal.profile ?? subject.named;
    if (name === undefined) return undefined;
    // Only programs that serve no clients with profiles get here.
    throw new TrunklineError("config", `The profile '${name}' cannot be used here.`);
  }

  /**
   * Await it before answering a list: servers may have to be started and asked first. The wait is
   * bounded; undefined when there is nothing to wait for.
   */
  known(principal: Principal = OWNER): Promise<void> | undefined {
    const all = this.#sources
      .map((each) => each.known(principal))
      .filter((wait) => wait !== undefined);
    return all.length <= 1 ? all[0] : Promise.all(all).then(() => {});
  }

  async opened(principal: Principal): Promise<void> {
    for (const each of this.#sources) await each.opened?.(principal);
  }

  arrival(principal: Principal = OWNER): Promise<void> | undefined {
    const all = this.#sources
      .map((each) => each.arrival?.(principal))
      .filter((one) => one !== undefined);
    return all.length <= 1 ? all[0] : Promise.race(all);
  }

  missing(profile?: Profile, principal: Principal = OWNER): readonly MissingSource[] {
    const all = this.#sources.flatMap((each) => each.missing?.(profile, principal) ?? []);
    return profile === undefined ? all : all.filter(({ name }) => profile.hasServer(name));
  }

  /** Reads a resource. Undefined when nobody knows the URI. */
  readResource(uri: string, context: ToolContext): Promise<ResourceResult | undefined> {
    const work = (): Promise<ResourceResult | undefined> => this.resources.read(uri, context);
    return this.#observed({ method: "resources/read", name: uri, context }, work);
  }

  getPrompt(
    prompt: Prompt,
    args: Readonly<Record<string, string>>,
    context: ToolContext,
  ): Promise<PromptResult> {
    const { name } = prompt.definition;
    const work = (): Promise<PromptResult> => prompt.get(args, context);
    return this.#observed({ method: "prompts/get", name, context }, work);
  }

  #observed<T>(request: ObservedRequest, work: () => Promise<T>): Promise<T> {
    const span = this.tools.observer?.asked?.(request);
    if (span === undefined) return work();
    request.context.span = span;
    return endSpan(span, work, (result) => (result === undefined ? { error: "not_found" } : {}));
  }

  /** Few results are too large, so the code for them is loaded here. */
  #keeping(): Promise<KeptResults> {
    this.#kept ??= import("./kept-results.ts").then(({ KeptResults }) => {
      const kept = new KeptResults();
      this.resources.add(kept);
      return kept;
    });
    return this.#kept;
  }

  /** From now on, lists and calls of unknown tools wait for these sources. */
  waitFor(sources: ToolSources): void {
    this.#sources.push(sources);
  }
}
