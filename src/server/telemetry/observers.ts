import type { RelayObserver } from "../../protocol/acp/relay/session-links.ts";
import type { RequestObserver } from "../../rpc/peer-options.ts";
import type { TurnObserver } from "../../session/turn/turns.ts";
import type { CallObserver } from "../../tool/call-observer.ts";

/** Observes the work of a program, for traces, metrics or the request log. */
export interface Observer {
  readonly calls?: CallObserver;
  readonly turns?: TurnObserver;
  /** Observes prompts that are forwarded to the process that has the session open. */
  readonly relayed?: RelayObserver;
  /** Observes the requests of a door. */
  readonly requests?: (door: string) => RequestObserver;
  /** Spans that the collector took, and those that it never got. */
  readonly spans?: { readonly exported: number; readonly dropped: number } | undefined;
  /** Sends what it still has, within a limited time. */
  readonly flush?: () => Promise<void>;
}

/** All observers of a program as one; it exists only if something is observed. */
export class Observers implements Required<Observer> {
  readonly #all: Observer[] = [];

  add(observer: Observer): void {
    this.#all.push(observer);
    // Metrics alone count these, in one place.
    this.calls.sent ??= observer.calls?.sent;
  }

  get spans(): Observer["spans"] {
    return this.#first(({ spans }) => spans);
  }

  readonly calls: { -readonly [Name in keyof CallObserver]: CallObserver[Name] } = {
    // Not by #first(): each call comes by here.
    begun: (call) => {
      for (const { calls } of this.#all) {
        const span = calls?.begun?.(call);
        if (span !== undefined) return span;
      }
      return undefined;
    },
    asked: (request) => this.#first(({ calls }) => calls?.asked?.(request)),
    ended: (call, end) => {
      for (const { calls } of this.#all) calls?.ended(call, end);
    },
    sent: undefined,
    sessionOver: (session) => {
      for (const { calls } of this.#all) calls?.sessionOver?.(session);
    },
  };

  readonly turns: TurnObserver = {
    begun: (turn) => {
      const begun = this.#all.flatMap(({ turns }) => turns?.begun(turn) ?? []);
      return {
        span: begun.find(({ span }) => span !== undefined)?.span,
        ended: (stopReason) => {
          for (const each of begun) each.ended(stopReason);
        },
      };
    },
  };

  readonly relayed: RelayObserver = (sessionId, meta) =>
    this.#first(({ relayed }) => relayed?.(sessionId, meta));

  readonly requests = (door: string): RequestObserver => {
    const all = this.#all.flatMap(({ requests }) => requests?.(door) ?? []);
    return (request) => {
      for (const observe of all) observe(request);
    };
  };

  readonly flush = async (): Promise<void> => {
    await Promise.all(this.#all.flatMap(({ flush }) => flush?.() ?? []));
  };

  /** What the first observer says that says something; those after it are not asked. */
  #first<T>(ask: (observer: Observer) => T | undefined): T | undefined {
    for (const observer of this.#all) {
      const said = ask(observer);
      if (said !== undefined) return said;
    }
    return undefined;
  }
}
