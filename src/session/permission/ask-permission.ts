import { TrunklineError } from "../../base/errors.ts";
import { Stopper } from "../../base/stop.ts";
import type { SessionClient } from "../client/client.ts";
import type { PermissionKind, PermissionOutcome, PermissionRequest } from "./permission.ts";

export interface Answered {
  readonly outcome: PermissionOutcome;
  readonly by: string;
  /** Id of the principal that answered; undefined where a rule or a cancel did. */
  readonly principal?: string;
}

/**
 * An open `session/request_permission`. All attached clients are asked, and those that attach later.
 * The first answer wins; the request is cancelled at the other clients.
 */
export class PendingPermission {
  readonly request: PermissionRequest;
  readonly answered: Promise<Answered>;
  readonly #sessionId: string;
  readonly #settle: (answered: Answered) => void;
  /** The clients with an open request, and what cancels it. */
  readonly #asked = new Map<SessionClient, Stopper>();
  /** Clients that answered with an error or an unknown option. */
  readonly #unable = new Set<SessionClient>();
  #isOver = false;

  constructor(sessionId: string, request: PermissionRequest) {
    const { promise, resolve } = Promise.withResolvers<Answered>();
    this.#sessionId = sessionId;
    this.request = request;
    this.answered = promise;
    this.#settle = resolve;
  }

  ask(client: SessionClient): void {
    if (this.#isOver || this.#asked.has(client) || this.#unable.has(client)) return;
    const stop = new Stopper();
    this.#asked.set(client, stop);
    const { toolCall, options, _meta } = this.request;
    const meta = _meta === undefined ? {} : { _meta };
    const params = { sessionId: this.#sessionId, toolCall, options, ...meta };
    client.ask("session/request_permission", params, { stop }).then(
      (answer) => this.#answer(client, answer),
      (error: unknown) => {
        // A client that lost its connection may attach again and is then asked again.
        if (error instanceof TrunklineError && error.code === "closed") this.#asked.delete(client);
        else this.#failed(client);
      },
    );
  }

  /** Cancels the request at a client that has detached. */
  forget(client: SessionClient): void {
    this.#asked.get(client)?.stop(new TrunklineError("closed", "The client is no longer attached"));
    this.#asked.delete(client);
  }

  /** ACP session/cancel: open permission requests are answered with "cancelled". */
  cancel(): void {
    this.#end({ outcome: { outcome: "cancelled" }, by: "cancel" }, "The turn was cancelled");
  }

  #answer(client: SessionClient, answer: unknown): void {
    const outcome = readOutcome(answer, this.request);
    if (outcome === undefined) {
      this.#failed(client);
    } else {
      const answered = { outcome, by: client.name, principal: client.principal.id };
      this.#end(answered, "Another client has answered", client);
    }
  }

  /** A client that cannot answer leaves it to the others. Where no other is left, it is rejected. */
  #failed(client: SessionClient): void {
    if (!this.#asked.delete(client) || this.#isOver) return;
    this.#unable.add(client);
    if (this.#asked.size > 0) return;
    const outcome = outcomeOf(this.request, ["reject_once", "reject_always"]);
    this.#end({ outcome: outcome ?? { outcome: "cancelled" }, by: client.name }, "");
  }

  #end(answered: Answered, why: string, by?: SessionClient): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (by !== undefined) this.#asked.delete(by);
    for (const stop of this.#asked.values()) stop.stop(new TrunklineError("cancelled", why));
    this.#asked.clear();
    this.#settle(answered);
  }
}

function readOutcome(answer: unknown, request: PermissionRequest): PermissionOutcome | undefined {
  const { outcome } = (answer ?? {}) as { outcome?: { outcome?: unknown; optionId?: unknown } };
  if (outcome?.outcome === "cancelled") return { outcome: "cancelled" };
  if (outcome?.outcome !== "selected") return undefined;
  const option = request.options.find(({ optionId }) => optionId === outcome.optionId);
  if (option === undefined) return undefined;
  return { outcome: "selected", optionId: option.optionId, kind: option.kind };
}

/** The outcome for the first offered option of these kinds; undefined where none is offered. */
export function outcomeOf(
  request: PermissionRequest,
  kinds: readonly PermissionKind[],
): PermissionOutcome | undefined {
  for (const kind of kinds) {
    const option = request.options.find((one) => one.kind === kind);
    if (option !== undefined) return { outcome: "selected", optionId: option.optionId, kind };
  }
  return undefined;
}
