import { defined } from "../../../base/defined.ts";
import { onAbort } from "../../../base/abort.ts";
import { type ApiCall, type ApiRoute, route, textIn } from "../../../base/capability/api-route.ts";
import { originalError, TrunklineError } from "../../../base/errors.ts";
import { nextTurn } from "../../../base/event-loop.ts";
import { Semaphore } from "../../../base/limit/semaphore.ts";
import type { Principal } from "../../../base/principal.ts";
import type { Profile } from "../../../tool/profile/profile.ts";
import {
  type Arguments,
  type Caller,
  CannotAsk,
  type Project,
  type Question,
  type ToolContext,
  ToolFault,
  type ToolResult,
} from "../../../tool/tool.ts";
import type { Toolbox } from "../../../tool/toolbox.ts";
import { searchAudit, tooMany } from "../../telemetry/audit-routes.ts";
import type { AuditRow, ToolCallLine } from "../api.ts";
import { JsonLines } from "../json-lines.ts";

/** Calls of one principal that run at once. */
const MOST_CALLS = 8;

export interface PageCallsOptions {
  readonly data: string;
  readonly toolbox: () => Toolbox;
  /** What a principal sees of the offer; undefined for one that sees everything. */
  readonly profileFor: (principal: Principal) => Profile | undefined;
}

/** Calls of tools from the page: through the toolbox, as those of any other client. */
export class PageCalls implements Disposable {
  readonly #options: PageCallsOptions;
  readonly #running = new Map<string, PageCall>();
  readonly #shares = new Semaphore({
    ...{ runningEach: MOST_CALLS, waitingEach: 0 },
    refusal: () => tooMany("calls", MOST_CALLS),
  });

  constructor(options: PageCallsOptions) {
    this.#options = options;
  }

  get routes(): readonly ApiRoute[] {
    return [
      // What a call needs depends on its tool: the toolbox decides, and records a refusal too.
      route("POST /api/tools/:id/call", "nothing", (call) => this.#call(call)),
      route("POST /api/calls/:id/answer", "nothing", async (call) => this.#answer(call)),
    ];
  }

  [Symbol.dispose](): void {
    for (const { lines } of this.#running.values()) lines.stop();
  }

  async #call({ principal, id: name, body, response }: ApiCall): Promise<undefined> {
    const args = body.arguments ?? {};
    if (typeof args !== "object" || args === null || Array.isArray(args)) {
      throw new TrunklineError("usage", "'arguments' has to be a JSON object.");
    }
    using _share = await this.#shares.enter({ key: principal.id });
    const { data, toolbox, profileFor } = this.#options;
    const lines = new JsonLines<ToolCallLine>(response);
    const call = new PageCall(principal, profileFor(principal), lines);
    lines.write({ call: call.session });
    this.#running.set(call.session, call);
    try {
      const shown = call.profile?.toolNames.shown(name) ?? name;
      lines.write(await endOf(toolbox().call(shown, args as Arguments, call)));
      const audit = await auditOf(data, principal, call.session);
      if (audit !== undefined) lines.write({ audit });
    } finally {
      this.#running.delete(call.session);
      lines.end();
    }
  }

  #answer({ principal, id, body }: ApiCall): { ok: true } {
    const call = this.#running.get(id);
    // Only the caller learns that there is such a call.
    const isOwn = call !== undefined && call.caller.principal.id === principal.id;
    if (!isOwn || !call.answer(textIn(body, "question"), body.answer)) {
      throw new TrunklineError("not-found", "This question does not wait for an answer any more.");
    }
    return { ok: true };
  }
}

/** A call that a page has made, until it ends. Closing the request cancels it. */
class PageCall implements ToolContext {
  readonly caller: Caller;
  readonly profile: Profile | undefined;
  /** Names the call: its entry in the audit is found by it. */
  readonly session = crypto.randomUUID();
  readonly meta = {};
  project?: Project | undefined;
  readonly lines: JsonLines<ToolCallLine>;
  readonly signal: AbortSignal;
  readonly #questions = new Map<string, (answer: unknown) => void>();

  constructor(principal: Principal, profile: Profile | undefined, lines: JsonLines<ToolCallLine>) {
    const { id, name = "dashboard" } = principal;
    // One client for all calls of a principal, so that rate limits count them together.
    this.caller = { door: "dashboard", name, principal, client: `dashboard ${id}`.trim() };
    this.profile = profile;
    this.lines = lines;
    this.signal = lines.signal;
  }

  progress(done: number, total?: number, message?: string): void {
    this.lines.write({ progress: defined({ done, total, message }) }, true);
  }

  log(): void {
    // The page shows what a call is doing by its progress.
  }

  canAsk({ method }: Question): boolean {
    return method === "elicitation/create";
  }

  async ask(question: Question): Promise<unknown> {
    if (!this.canAsk(question)) throw new CannotAsk(question);
    const key = crypto.randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const forget = onAbort(this.signal, reject);
    this.#questions.set(key, resolve);
    this.lines.write({ question: { key, ...question.params } });
    try {
      return await promise;
    } finally {
      forget();
      this.#questions.delete(key);
      this.lines.write({ answered: key });
    }
  }

  /** Whether the question waited for an answer. */
  answer(key: string, answer: unknown): boolean {
    const resolve = this.#questions.get(key);
    if (resolve === undefined) return false;
    const isAnswer = typeof answer === "object" && answer !== null && "action" in answer;
    if (!isAnswer) throw new TrunklineError("usage", "'answer' has no 'action'.");
    resolve(answer);
    return true;
  }
}

/** The last line of a call. Errors of the protocol are for the person who looks, as results are. */
async function endOf(
  call: Promise<ToolResult>,
): Promise<{ readonly result: ToolResult } | { readonly error: string }> {
  try {
    return { result: await call };
  } catch (failure) {
    const error = originalError(failure);
    const isForPerson = [TrunklineError, ToolFault, CannotAsk].some(
      (kind) => error instanceof kind,
    );
    if (isForPerson) return { error: (error as Error).message };
    throw error;
  }
}

/** The entry of a call in the audit, which is written at the end of the turn in which the call ends. */
async function auditOf(
  data: string,
  principal: Principal,
  session: string,
): Promise<AuditRow | undefined> {
  await nextTurn();
  const { rows } = await searchAudit(data, principal, { text: session, limit: 1 });
  return rows.find((row) => row.session === session);
}
