import { setTimeout as delay } from "node:timers/promises";

import { promptBlocks } from "../../../agent/prompt/prompt-blocks.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { type LimitTable, limitsFor } from "../../../base/limit/limits.ts";
import type { Principal } from "../../../base/principal.ts";
import type { SessionEvent } from "../../../session/event.ts";
import { workplaceOf } from "../../../session/workplace.ts";
import type { ReadSession } from "../../../store/session/session-reader.ts";
import { BUILT_IN } from "../../../config/config.ts";
import type { AnswerBody, PromptBody } from "../session-api.ts";
import type { SessionClients } from "./session-clients.ts";
import type { SessionRows } from "./session-rows.ts";

export interface SessionActionsOptions {
  readonly rows: SessionRows;
  readonly clients: SessionClients;
  readonly limits: LimitTable | undefined;
  /** A prompt of a principal that was accepted has failed; undefined once another is accepted. */
  readonly failed: (session: string, principal: Principal, error: unknown) => void;
}

/** Milliseconds for which an answer or a prompt may take to be in the log. */
export const PATIENCE = 10_000;
export const LOOK_AGAIN = 20;

/** The actions of a person in a session from the dashboard. */
export function sessionActions({ rows, clients, limits, failed }: SessionActionsOptions) {
  /** Resolves when the prompt is in the log or waits for its turn; throws why it is refused. */
  async function prompt(by: Principal, session: ReadSession, body: PromptBody): Promise<void> {
    // One that waits for a running turn would be refused when nobody hears of it.
    const { maxSize = Infinity } = limitsFor("session/prompt", limits);
    if (Buffer.byteLength(body.text) > maxSize) {
      throw new TrunklineError("usage", `A prompt has at most ${maxSize} bytes.`);
    }
    const client = await clients.at(by, session);
    const before = await rows.need(by, session.id);
    const folder = workplaceOf(session.notes)?.folder ?? session.cwd;
    // Links of a project lead nowhere else: a person adds other images to the prompt itself.
    const blocks = await promptBlocks(body.text, folder, [folder]);
    const { images: chosen = [] } = body;
    const images = chosen.map(({ mimeType, data }) => ({ type: "image", mimeType, data }));
    const ended = client.prompt([...blocks, ...images], body.whileRunning);
    let isAccepted = false;
    ended.catch((error: unknown) => {
      if (isAccepted) failed(session.id, by, error);
    });
    try {
      if (typeof before.notes.turn === "string" && before.holder !== undefined) return;
      const signal = AbortSignal.timeout(PATIENCE);
      await Promise.race([ended, prompted(session.id, before.last, signal)]);
      failed(session.id, by, undefined);
    } finally {
      isAccepted = true;
    }
  }

  async function cancel(by: Principal, session: ReadSession): Promise<void> {
    if (session.holder === undefined || typeof session.notes.turn !== "string") {
      throw new TrunklineError("conflict", "No turn is running in this session.");
    }
    (await clients.at(by, session)).cancel();
  }

  /** Restores the files that the last turn changed, as `/undo` does, or takes that back. */
  async function undo(by: Principal, session: ReadSession, what: "undo" | "redo"): Promise<void> {
    if (!canUndo(session)) {
      const why = `only the built-in agent keeps what it needs for that, not '${session.agent}'`;
      throw new TrunklineError("conflict", `Cannot ${what}: ${why}.`);
    }
    await prompt(by, session, { text: `/${what}` });
  }

  /** Answers a permission or a question. Throws "conflict" where it is no longer asked. */
  async function answer(by: Principal, session: ReadSession, body: AnswerBody): Promise<void> {
    const digest = await rows.digests.of(session);
    const pending = digest.asked(session).find(({ requestId }) => requestId === body.id);
    if (pending === undefined) {
      const client = await clients.known(by, session.id);
      if (client?.questions.answer(body.id, body.result ?? { action: "cancel" }) === true) return;
      const says = "This is no longer asked: it was answered or cancelled.";
      throw new TrunklineError("conflict", says);
    }
    const { options } = pending.request;
    const { optionId = "" } = body;
    if (!options.some((option) => option.optionId === optionId)) {
      const names = `Choose one of: ${options.map((option) => option.optionId).join(", ")}.`;
      throw new TrunklineError("usage", `There is no option '${optionId}'. ${names}`);
    }
    const client = await clients.at(by, session);
    await client.permit(pending.requestId, optionId);
  }

  /** Resolves when a prompt is in the log. Throws "timeout" where none comes. */
  async function prompted(id: string, after: number, signal: AbortSignal): Promise<void> {
    for (let seen = after; ;) {
      const events = await rows.reader.events(id, seen + 1, 1_000);
      if (events.some(({ message }) => (message as SessionEvent).kind === "prompt")) return;
      if (signal.aborted) {
        throw new TrunklineError("timeout", "The session has not taken it yet. Look again later.");
      }
      if (events.length === 0) await delay(LOOK_AGAIN);
      seen = events.at(-1)?.seq ?? seen;
    }
  }

  return { prompt, cancel, undo, answer };
}

/** Whether the agent of a session keeps what undoing its last turn needs. */
export function canUndo({ agent, notes }: ReadSession): boolean {
  return agent === BUILT_IN && notes.run === undefined;
}
