import { type Audit, type AuditEntry, auditEntry, short } from "./audit.ts";
import type { CallObserver, ObservedCall } from "./call-observer.ts";
import type { CallHooks, HooksOfCall } from "./call-hooks.ts";
import { callWithin } from "./limited-context.ts";
import { type ToolSources, awaitTool, type WaitingCaller } from "./offer/tool-sources.ts";
import {
  type Decision,
  decisionOn,
  questionOn,
  visibleTools,
  Policy,
  toolRefusal,
} from "./policy.ts";
import {
  projectMissing,
  type AddressesOf,
  type RepositoryOf,
  isAbout,
  needOf,
  type Project,
  projectRefusal,
  type ProjectUse,
  resolveProject,
  type Tool,
  type ToolContext,
  FAULT_META,
  INVALID_ARGUMENTS,
  APPS_EXTENSION,
  isForApps,
  type Arguments,
  CannotAsk,
  errorResult,
  lostTask,
  type KeptText,
  type RemoteTask,
  ToolFault,
  type ToolOverride,
  type ToolResult,
} from "./tool.ts";
import {
  type Approver,
  heldBecause,
  heldKey,
  type HeldTool,
  ToolRegistry,
} from "./tool-registry.ts";
import { diskWords, TrunklineError, originalError } from "../base/errors.ts";
import { OWNER, personOf, type Principal } from "../base/principal.ts";
import { visible, visibleLine } from "../base/text/visible.ts";
import { argumentProblem } from "./schema/plain-schema.ts";
import type { Profile } from "./profile/profile.ts";
import { LARGEST_QUESTION } from "../base/limit/limits.ts";
import { maskWords } from "../base/text/mask.ts";

/** For whom tools are listed. */
type ListingContext = Pick<ToolContext, "caller" | "project" | "profile" | "extensions">;

/** A call that is being made. */
interface StartedCall extends ObservedCall {
  readonly started: number;
  /** The arguments as they are sent. Hooks or the caller's profile may have changed them. */
  args: Arguments;
  /** The arguments as the caller gave them, if they are sent differently. */
  given?: Arguments;
  override?: ToolOverride | undefined;
  hooks?: HooksOfCall;
  /** Why a hook wants a person to be asked. */
  asks?: string | undefined;
}

/**
 * The first waist: every tool there is, whoever brings it and whichever door it is called through.
 * A call passes the policy, the tool's schema and its limits before the tool sees it, and leaves a
 * record however it ends.
 */
export class Toolbox {
  readonly #registry: ToolRegistry;
  readonly audit: Audit | undefined;
  readonly observer: CallObserver | undefined;
  readonly #isPrivate: boolean;
  readonly #keep: ToolboxOptions["keep"];
  readonly #fallback: ((name: string) => Tool | undefined) | undefined;
  readonly #sources: ToolboxOptions["sources"];
  readonly #repositoryOf: RepositoryOf;
  readonly #addressesOf: AddressesOf;
  readonly #report: (event: string, fields: Record<string, unknown>) => void;
  policy: Policy;
  /** What runs before and after every call; undefined where nothing does. */
  hooks: CallHooks | undefined;

  constructor(options: ToolboxOptions = {}) {
    this.policy = options.policy ?? new Policy();
    this.#registry = new ToolRegistry(options.approver);
    this.audit = options.audit;
    this.observer = options.observer;
    this.hooks = options.hooks;
    this.#isPrivate = options.isPrivate === true;
    this.#keep = options.keep;
    this.#fallback = options.fallback;
    this.#sources = options.sources;
    this.#repositoryOf = options.repositoryOf ?? (() => undefined);
    this.#addressesOf = options.addressesOf ?? (async () => []);
    this.#report = options.report ?? (() => {});
  }

  /**
   * Offers a tool. A tool of another server that has changed since it was approved is held: it is not
   * offered, and its callers are told what a person can do about it. Returns a function that removes the
   * tool.
   */
  add(tool: Tool): () => void {
    return this.#registry.add(tool);
  }

  /** A tool by the name that it has for a caller. Without a principal: one of those that are for all. */
  get(name: string, profile?: Profile, principal?: Principal): Tool | undefined {
    if (profile === undefined) {
      const { offered } = this.#registry;
      const own = (): Tool | undefined => offered.get(name, principal && personOf(principal));
      return offered.get(name) ?? own() ?? this.#fallback?.(name);
    }
    const tool = this.get(profile.toolNames.real(name) ?? "", undefined, principal);
    return tool !== undefined && profile.hasTool(tool) && profile.suspension(tool) === undefined
      ? tool
      : undefined;
  }

  /** The tools that a principal may call, in the order in which they were added. Without one: those for all. */
  list(principal?: Principal): readonly Tool[] {
    const all = this.#registry.offered.list(principal && personOf(principal));
    if (this.#isPrivate || principal === undefined || principal === OWNER) return all;
    return all.filter((tool) => toolRefusal(principal, tool) === undefined);
  }

  /** The tools that a caller sees: without those that the policy always denies it. */
  listFor(context: ListingContext): readonly Tool[] {
    const { profile, extensions } = context;
    if (profile?.search !== undefined) return profile.search.list(this.visibleTo(context));
    // A client that shows apps keeps their tools from its model itself.
    return extensions?.[APPS_EXTENSION] === undefined
      ? this.visibleTo(context)
      : this.#all(context);
  }

  /** What a model may see, before a profile with `search` replaces it by its two tools. */
  visibleTo(context: ListingContext): readonly Tool[] {
    const all = this.#all(context);
    return all.some(isForApps) ? all.filter((tool) => !isForApps(tool)) : all;
  }

  #all(context: ListingContext): readonly Tool[] {
    return visibleTools(this.policy, this.list(context.caller.principal), context);
  }

  /** Whether the policy has a person asked before this call. */
  async asks(shown: Tool, args: Arguments, context: ToolContext): Promise<boolean> {
    // Policies use the real name of the tool, not the one in the caller's profile.
    const tool = this.#meant(shown.definition.name, context) ?? shown;
    return (await this.#decide(tool, sentBy(tool, args, context), context)) === "ask";
  }

  /**
   * Whether the annotations of a tool, such as that it only reads, can be trusted: those of our own tools
   * can, those of another server's if a person has allowed the call by a policy rule or approved the tool.
   */
  async isTrusted(shown: Tool, args: Arguments, context: ToolContext): Promise<boolean> {
    // Policies use the real name of the tool, not the one in the caller's profile.
    const tool = this.#meant(shown.definition.name, context) ?? shown;
    const { source, bringer } = tool;
    if (source === undefined && bringer === undefined) return true;
    const sent = sentBy(tool, args, context);
    await this.#decide(tool, sent, context);
    if (this.policy.says(questionOn(tool, sent, context)) === "allow") return true;
    return source !== undefined && this.#registry.vouchesFor(tool, source);
  }

  held(): readonly HeldTool[] {
    return this.#registry.held.list();
  }

  /** To be called after a change of the policy or the profiles: lists may have changed. */
  changed(): void {
    this.#registry.offered.changed();
  }

  /** Calls back when the offered tools change. Returns a function that stops it. */
  onChange(listener: () => void, person?: string): () => void {
    return this.#registry.offered.onChange(listener, person);
  }

  /** The tool that a caller means by a name. */
  #meant(name: string, { profile, caller }: Pick<ToolContext, "profile" | "caller">) {
    return this.get(name, profile, caller.principal);
  }

  /**
   * Calls a tool. Rejects with "not-found" if there is none of that name, and with errors of the protocol
   * (`CannotAsk`, `ToolFault`); every other failure is a result with `isError`, in words that a model can act
   * on.
   */
  call(name: string, args: Arguments, context: ToolContext): Promise<ToolResult> {
    const answer = context.profile?.search?.answer(name, args, {
      known: () => this.#sources?.known(context.caller.principal),
      tools: () => this.visibleTo(context),
      // Whoever may list tools may search them, so no policy decides on a search.
      found: (work) => this.#settle(this.#begun(name, args, context, undefined), work),
      // Policy, schema and record are those of the tool that is meant.
      call: (meant, given) => {
        const tool = this.#meant(meant, context);
        if (tool === undefined || !isForApps(tool)) return this.#call(meant, given, context);
        const call = this.#begun(tool.definition.name, given, context, tool);
        return this.#refuse(call, `'${meant}' is for apps of its server, not for models`);
      },
    });
    return Promise.resolve(answer ?? this.#call(name, args, context));
  }

  /** Most checks are synchronous: a call that passes them waits only for its tool. */
  async #call(name: string, args: Arguments, context: ToolContext): Promise<ToolResult> {
    const tool = this.get(name, context.profile, context.caller.principal);
    // The audit has its real name, not the one in the caller's profile.
    const call = this.#begun(tool?.definition.name ?? name, args, context, tool);
    if (tool === undefined) return this.#missing(call);
    try {
      if (this.hooks !== undefined || context.profile?.hasOverrides === true) {
        const stopped = await this.#changed(tool, call);
        if (stopped !== undefined) return stopped;
      }
      const refused = this.#refusal(tool, call);
      const refusal = refused instanceof Promise ? await refused : refused;
      if (refusal !== undefined) return this.#refuse(call, refusal);
      const found = tool.checksItself === true ? undefined : argumentProblem(tool, call.args);
      const problem = found instanceof Promise ? await found : found;
      if (problem !== undefined) return this.#invalid(call, problem);
      const { project } = context;
      if (
        project !== undefined &&
        project.folder === undefined &&
        tool.project !== undefined &&
        needOf(tool.project, call.args) === "needed"
      ) {
        return this.#refuse(call, projectMissing(call.name, tool.project, project));
      }
      // It may have been cancelled meanwhile.
      if (context.signal.aborted) throw context.signal.reason;
      if (context.isTask === true) this.#record(call, "begun");
      const { timeout } = tool;
      const work =
        timeout === undefined ? tool.call(call.args, context) : callWithin(timeout, tool, call);
      const isChanged = call.hooks !== undefined || call.override !== undefined;
      return this.#ended(call, await (isChanged ? this.#after(call, work) : work));
    } catch (error) {
      return this.#failed(call, error);
    }
  }

  #begun(name: string, args: Arguments, context: ToolContext, tool: Tool | undefined): StartedCall {
    const call: StartedCall = { name, args, context, tool, started: performance.now() };
    if (this.observer?.begun !== undefined) context.span = this.observer.begun(call);
    return call;
  }

  /** Applies the owner's changes to the arguments of a call. Returns a result if the call is refused. */
  async #changed(tool: Tool, call: StartedCall): Promise<ToolResult | undefined> {
    const { context } = call;
    const override = context.profile?.overrideOf(tool);
    const hooks = this.hooks?.for(tool, context);
    if (override !== undefined) {
      const foreign = override.foreign(call.args);
      if (foreign !== undefined)
        return this.#invalid(call, `'${foreign}' is not for callers to give`);
      replaceArguments(call, override.sent(call.args));
      call.override = override;
    }
    const stopped = hooks === undefined ? undefined : await this.#hooked(tool, call, hooks);
    // Parts that are sent ahead of the result would bypass whoever has to see the result first.
    if (override !== undefined || hooks !== undefined)
      delete (context as { piece?: unknown }).piece;
    return stopped;
  }

  /**
   * Lets hooks decide on a call that would be allowed. A call that they change is then decided on and checked
   * again, like any call.
   */
  async #hooked(
    tool: Tool,
    call: StartedCall,
    hooks: HooksOfCall,
  ): Promise<ToolResult | undefined> {
    const { args, context } = call;
    const { project } = context;
    const refusal = await this.#refusal(tool, call, true);
    if (refusal !== undefined) return this.#refuse(call, refusal);
    const problem = tool.checksItself === true ? undefined : await argumentProblem(tool, args);
    if (problem !== undefined) return this.#invalid(call, problem);
    const before = await hooks.before(args);
    if (before.refusal !== undefined) return this.#refuse(call, before.refusal);
    call.hooks = hooks;
    call.asks = before.asks;
    if (before.args === undefined) return undefined;
    replaceArguments(call, before.args);
    // The changed call may be about another project.
    context.project = project;
    return undefined;
  }

  /** The result after the hooks of the owner and the override of the caller's profile. */
  async #after(call: StartedCall, work: ToolResult | Promise<ToolResult>): Promise<ToolResult> {
    const { override, context } = call;
    const result = await (call.hooks === undefined ? work : afterHooks(call, work));
    if (override === undefined) return result;
    return override.result(result, async (text, mimeType) => {
      return this.#keep?.({ text, mimeType }, context);
    });
  }

  /**
   * Why a call may not be made: because of its token, its project, the policy or a rate limit. A trial asks
   * nobody, and does not count towards the rate.
   */
  #refusal(
    tool: Tool,
    call: StartedCall,
    isTrial = false,
  ): string | undefined | Promise<string | undefined> {
    const { args, context } = call;
    const refusal = this.#isPrivate ? undefined : toolRefusal(context.caller.principal, tool, args);
    if (refusal !== undefined) return refusal;
    const decision = this.#decide(tool, args, context);
    return decision instanceof Promise
      ? decision.then((decided) => this.#refusalBy(decided, tool, call, isTrial))
      : this.#refusalBy(decision, tool, call, isTrial);
  }

  /** The same, once the policy has decided. */
  #refusalBy(
    decision: Decision,
    tool: Tool,
    call: StartedCall,
    isTrial: boolean,
  ): string | undefined | Promise<string | undefined> {
    const { name, args, context, asks } = call;
    const { project, caller } = context;
    if (project?.refusal !== undefined && isAbout(tool, args)) return project.refusal;
    if (decision === "deny") return `The policy does not let ${caller.name} call '${name}'`;
    if (isTrial) return undefined;
    // Only profiles have rates.
    if (decision === "allow" && asks === undefined)
      return context.profile && this.#tooOften(tool, call);
    return askPerson(name, args, context, asks).then((refused) => {
      if (context.signal.aborted) throw context.signal.reason;
      return refused ?? this.#tooOften(tool, call);
    });
  }

  #tooOften(tool: Tool, { name, context }: StartedCall): string | undefined {
    const wait = context.profile?.wait(tool.definition.name, context.caller) ?? 0;
    return wait === 0
      ? undefined
      : `'${name}' is called too often: wait ${Math.ceil(wait / 1000)} s`;
  }

  /**
   * Continues a call that another server runs as a task. The call was allowed when it began, in a process
   * that has ended since.
   */
  async resume(task: RemoteTask, context: ToolContext): Promise<ToolResult> {
    const { tool: name, server, taskId } = task;
    // Also if it is cancelled meanwhile: its server has to be told.
    const { caller } = context;
    await this.#arrived(name, { caller, signal: new AbortController().signal, progress: () => {} });
    const tool = this.get(name, undefined, caller.principal);
    const call: StartedCall = { name, args: {}, context, tool, started: performance.now() };
    if (tool?.resume === undefined || tool.source?.server !== server) {
      return this.#failed(call, lostTask(task));
    }
    const refusal = toolRefusal(context.caller.principal, tool);
    if (refusal !== undefined) return this.#refuse(call, refusal);
    const hooks = this.hooks?.for(tool, context);
    if (hooks !== undefined) call.hooks = hooks;
    call.override = context.profile?.overrideOf(tool);
    return this.#settle(call, this.#after(call, tool.resume(taskId, context)));
  }

  /** Which project a call is about, and whether it may be. The client may have to be asked. */
  async projectOf(context: ToolContext, args: Arguments = {}, use?: ProjectUse): Promise<Project> {
    const project = await resolveProject(use, args, context, this.#repositoryOf);
    const { principal } = context.caller;
    const ways = [this.#repositoryOf, this.#addressesOf] as const;
    const refusal = await projectRefusal(principal, project, ...ways);
    return refusal === undefined ? project : { ...project, refusal };
  }

  /**
   * The decision of the policy on a call. The project is resolved first, once, if the tool or the policy
   * depends on it.
   */
  #decide(tool: Tool, args: Arguments, context: ToolContext): Decision | Promise<Decision> {
    const decision = decisionOn(this.policy, tool, args, context);
    const isSettled = context.project !== undefined || !isAbout(tool, args);
    if (isSettled && decision !== "needs project") return decision;
    return this.projectOf(context, args, tool.project).then((project) => {
      context.project = project;
      if (context.signal.aborted) throw context.signal.reason;
      return decisionOn(this.policy, tool, args, context) as Decision;
    });
  }

  /** A held tool, as far as a caller may know of it. */
  #held(name: string, { profile, caller }: WaitingCaller): HeldTool | undefined {
    const real = profile?.toolNames.real(name) ?? name;
    const { held: all } = this.#registry;
    const held = all.get(real) ?? all.get(heldKey(real, personOf(caller.principal)));
    return held === undefined || profile?.hasTool(held.tool) === false ? undefined : held;
  }

  async #missing(call: StartedCall): Promise<ToolResult> {
    const { name, args, context } = call;
    const { profile } = context;
    const held = this.#held(name, context);
    if (held !== undefined) return this.#refuse(call, heldBecause(held));
    const { principal } = context.caller;
    const meant = profile && this.get(profile.toolNames.real(name) ?? "", undefined, principal);
    if (meant !== undefined && profile?.hasTool(meant) === true) {
      return this.#refuse(call, profile.suspension(meant) ?? "");
    }
    if (this.#sources?.arrival(principal) !== undefined) {
      await this.#arrived(name, context);
      if (context.signal.aborted) return this.#failed(call, context.signal.reason);
      return this.#call(name, args, context);
    }
    const missing = (this.#sources?.missing(profile, principal) ?? []).map(({ why }) => why);
    const all = [`Unknown tool: ${short(name)}`, ...missing, profile?.problem ?? ""];
    const reason = all.filter(Boolean).join(". ");
    this.#record(call, "refused", reason);
    throw new TrunklineError("not-found", reason);
  }

  /** A server that has not listed its tools yet may have the tool: wait for it. */
  async #arrived(name: string, context: WaitingCaller): Promise<void> {
    const isThere = (): boolean => Boolean(this.#meant(name, context) ?? this.#held(name, context));
    if (this.#sources !== undefined) await awaitTool(isThere, this.#sources, context);
  }

  /** Waits for work that no check comes before, and records how it ends. */
  async #settle(call: StartedCall, work: Promise<ToolResult>): Promise<ToolResult> {
    try {
      return this.#ended(call, await work);
    } catch (error) {
      return this.#failed(call, error);
    }
  }

  /** Records the result of a call, and returns it. */
  #ended(call: StartedCall, result: ToolResult): ToolResult {
    // Tools of plugins and other servers are not typed.
    if (!Array.isArray((result as ToolResult | undefined)?.content)) {
      throw new TypeError("The tool's result has no content");
    }
    this.#record(call, result.isError === true ? "error" : "ok", undefined, result);
    return result;
  }

  #invalid(call: StartedCall, problem: string): ToolResult {
    const refused = this.#refuse(call, `Invalid arguments for '${call.name}': ${problem}`);
    return { ...refused, _meta: { [FAULT_META]: INVALID_ARGUMENTS } };
  }

  #refuse(call: StartedCall, reason: string): ToolResult {
    this.#record(call, "refused", reason);
    return errorResult(visible(reason));
  }

  #failed(call: StartedCall, failure: unknown): ToolResult {
    const error = originalError(failure);
    const { name, context } = call;
    if (error instanceof CannotAsk || error instanceof ToolFault) {
      this.#record(call, "error", error.message);
      throw error;
    }
    if (context.signal.aborted) {
      const reason = `'${name}' was cancelled`;
      this.#record(call, "cancelled", reason);
      return errorResult(reason);
    }
    const words = error instanceof TrunklineError ? error.message : diskWords(error);
    const reason = words ?? `'${name}' failed because of a fault in it`;
    if (words === undefined) this.#report("tool.fault", { tool: name, error });
    this.#record(call, "error", reason);
    return errorResult(reason);
  }

  #record(
    call: StartedCall,
    outcome: AuditEntry["outcome"],
    reason?: string,
    result?: ToolResult,
  ): void {
    if (this.observer !== undefined && outcome !== "begun") {
      const milliseconds = performance.now() - call.started;
      this.observer.ended(call, { outcome, reason, milliseconds, result });
    }
    if (this.audit === undefined) return;
    try {
      this.audit.record(auditEntry(call, call.started, outcome, reason));
    } catch (error) {
      // A failure to record a call must not fail the call.
      this.#report("audit.failed", { tool: call.name, error });
    }
  }
}

export interface ToolboxOptions {
  readonly policy?: Policy;
  readonly audit?: Audit;
  readonly observer?: CallObserver | undefined;
  readonly hooks?: CallHooks | undefined;
  /** Keeps a text for the caller to read, where a result is too large. */
  readonly keep?: (
    kept: { readonly text: string; readonly mimeType: string },
    context: ToolContext,
  ) => Promise<KeptText | undefined>;
  /** Without it, the tools of other servers are offered without approval. */
  readonly approver?: Approver;
  /** Makes a tool for an unknown name, so that it can be called though it is not listed. */
  readonly fallback?: (name: string) => Tool | undefined;
  /** Its tools belong to the caller that brought them: no scope of a token is needed. */
  readonly isPrivate?: boolean;
  /** Sources that may still bring a tool: a call of an unknown tool waits for them. */
  readonly sources?: Required<Omit<ToolSources, "opened">>;
  /** Finds the repositories among a client's roots; without it, no root is one. */
  readonly repositoryOf?: RepositoryOf | undefined;
  /** Tells whether a principal may use a repository that is limited to some; without it, none has one. */
  readonly addressesOf?: AddressesOf | undefined;
  /** Gets the cause of a fault in a tool; the caller is told only that there was one. */
  readonly report?: (event: string, fields: Record<string, unknown>) => void;
}

/** The audit also gets the arguments that the caller gave. */
function replaceArguments(call: StartedCall, args: Arguments): void {
  call.given ??= call.args;
  call.args = args;
}

/** What a policy decides on: the arguments that are sent. */
function sentBy(tool: Tool, args: Arguments, { profile }: ToolContext): Arguments {
  return profile?.overrideOf(tool)?.sent(args) ?? args;
}

/** Passes the result of a call to the hooks, or another server's error in its place. */
async function afterHooks(
  { args, hooks }: Pick<StartedCall, "args" | "hooks">,
  work: ToolResult | Promise<ToolResult>,
): Promise<ToolResult> {
  let fault: ToolFault | undefined;
  let result: ToolResult;
  try {
    result = await work;
  } catch (error) {
    // A page that the person has to look at first is a question, and no result.
    if (!(error instanceof ToolFault) || error.code === PAGE_FIRST) throw error;
    fault = error;
    result = errorResult([error.message, JSON.stringify(error.data) ?? ""].join("\n").trim());
  }
  const seen = (await hooks?.after(args, result)) ?? result;
  if (fault !== undefined && seen === result) throw fault;
  return seen;
}

/** URLElicitationRequiredError (MCP 2025-11-25, client/elicitation). */
const PAGE_FIRST = -32042;

/**
 * Asks the person behind a call whether it may be made, and shows its arguments whole. Resolves to
 * the reason for a refusal, or to undefined when the person allows the call.
 */
export async function askPerson(
  tool: string,
  args: Arguments,
  context: ToolContext,
  asks?: string,
): Promise<string | undefined> {
  // The question comes first, because the caller controls what follows it.
  const who = visibleLine(JSON.stringify(context.caller.name.slice(0, 100)));
  const shown = visibleLine(JSON.stringify(maskWords(args)));
  const why = asks === undefined ? "" : ` A hook wants you to decide: ${visibleLine(asks)}.`;
  const message = `Allow ${who} to call '${visibleLine(tool)}'?${why} Its arguments: ${shown}`;
  const size = Buffer.byteLength(message);
  if (size > LARGEST_QUESTION) {
    return (
      `'${tool}' needs a person's consent, and its arguments are too long to be shown whole: ` +
      `the question has ${size} bytes, at most ${LARGEST_QUESTION} can be asked. ` +
      `Call it with less at a time.`
    );
  }
  try {
    const answer = (await context.ask({
      // A random key, so that the question cannot be answered before it is asked.
      key: `consent-${crypto.randomUUID()}`,
      method: "elicitation/create",
      params: { mode: "form", message, requestedSchema: { type: "object", properties: {} } },
    })) as { readonly action?: unknown };
    if (answer.action === "accept") return undefined;
    return `'${tool}' was not allowed by the person who was asked`;
  } catch (error) {
    if (context.signal.aborted) return `'${tool}' was cancelled before a person allowed it`;
    const why =
      error instanceof CannotAsk
        ? "this client cannot ask for it"
        : "the question for it was not answered";
    return (
      `'${tool}' needs a person's consent, and ${why}. ` +
      `To allow it without, add a rule to policy.tools in the configuration.`
    );
  }
}
