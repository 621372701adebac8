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
  type Question,
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
export function pageCalls({ data, toolbox, profileFor }: PageCallsOptions) {
  const running = new Map<string, ReturnType<typeof pageCall>>();
  const shares = new Semaphore({
    ...{ runningEach: MOST_CALLS, waitingEach: 0 },
    refusal: () => tooMany("calls", MOST_CALLS),
  });
  const routes: readonly ApiRoute[] = [
    // What a call needs depends on its tool: the toolbox decides, and records a refusal too.
    route("POST /api/tools/:id/call", "nothing", call),
    route("POST /api/calls/:id/answer", "nothing", async (asked) => answer(asked)),
  ];

  async function call({ principal, id: name, body, response }: ApiCall): Promise<undefined> {
    const args = body.arguments ?? {};
    if (typeof args !== "object" || args === null || Array.isArray(args)) {
      throw new TrunklineError("usage", "'arguments' has to be a JSON object.");
    }
    using _share = await shares.enter({ key: principal.id });
    const lines = new JsonLines<ToolCallLine>(response);
    const made = pageCall(principal, profileFor(principal), lines);
    lines.write({ call: made.session });
    running.set(made.session, made);
    try {
      const shown = made.profile?.toolNames.shown(name) ?? name;
      lines.write(await endOf(toolbox().call(shown, args as Arguments, made)));
      const audit = await auditOf(data, principal, made.session);
      if (audit !== undefined) lines.write({ audit });
    } finally {
      running.delete(made.session);
      lines.end();
    }
  }

  function answer({ principal, id, body }: ApiCall): { ok: true } {
    const open = running.get(id);
    // Only the caller learns that there is such a call.
    const isOwn = open !== undefined && open.caller.principal.id === principal.id;
    if (!isOwn || !open.answer(textIn(body, "question"), body.answer)) {
      throw new TrunklineError("not-found", "This question does not wait for an answer any more.");
    }
    return { ok: true };
  }

  return {
    routes,
    [Symbol.dispose](): void {
      for (const { lines } of running.values()) lines.stop();
    },
  };
}

/** A call that a page has made, until it ends. Closing the request cancels it. */
function pageCall(
  principal: Principal,
  profile: Profile | undefined,
  lines: JsonLines<ToolCallLine>,
) {
  const { id, name = "dashboard" } = principal;
  const questions = new Map<string, (answer: unknown) => void>();
  const { signal } = lines;

  function canAsk({ method }: Question): boolean {
    return method === "elicitation/create";
  }

  async function ask(question: Question): Promise<unknown> {
    if (!canAsk(question)) throw new CannotAsk(question);
    const key = crypto.randomUUID();
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    const forget = onAbort(signal, reject);
    questions.set(key, resolve);
    lines.write({ question: { key, ...question.params } });
    try {
      return await promise;
    } finally {
      forget();
      questions.delete(key);
      lines.write({ answered: key });
    }
  }

  /** Whether the question waited for an answer. */
  function answer(key: string, given: unknown): boolean {
    const resolve = questions.get(key);
    if (resolve === undefined) return false;
    const isAnswer = typeof given === "object" && given !== null && "action" in given;
    if (!isAnswer) throw new TrunklineError("usage", "'answer' has no 'action'.");
    resolve(given);
    return true;
  }

  return {
    // One client for all calls of a principal, so that rate limits count them together.
    caller: { door: "dashboard", name, principal, client: `dashboard ${id}`.trim() } as Caller,
    /** Names the call: its entry in the audit is found by it. */
    session: crypto.randomUUID(),
    meta: {},
    ...{ profile, lines, signal, canAsk, ask, answer },
    progress: (done: number, total?: number, message?: string) =>
      lines.write({ progress: defined({ done, total, message }) }, true),
    log: () => {
      // The page shows what a call is doing by its progress.
    },
  };
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
