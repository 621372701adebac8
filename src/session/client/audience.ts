import { background } from "../../base/background.ts";
import type { SessionUpdate } from "../agent.ts";
import { isFor } from "./attachment.ts";
import { Attachments } from "./attachments.ts";
import type { SessionClient, ShownUpdate } from "./client.ts";
import { Delivery, toShown } from "./delivery.ts";
import type { SessionLimits } from "../limits.ts";
import { replay } from "../turn/replay.ts";
import type { SessionStore } from "../store.ts";

/** Who sees a session, and what they see of it. */
export class Audience {
  readonly attachments: Attachments;
  readonly delivery: Delivery;
  readonly #sessionId: string;
  readonly #store: SessionStore;
  readonly #limits: SessionLimits;
  #commands: SessionUpdate | undefined;
  /** What was said before anybody could come; undefined once somebody has, or it is too much. */
  #early: ShownUpdate[] | undefined = [];
  #earlyCharacters = 0;

  /** `last` is the number of the last event that there is. */
  constructor(sessionId: string, last: number, store: SessionStore, limits: SessionLimits) {
    this.#sessionId = sessionId;
    this.#store = store;
    this.#limits = limits;
    this.attachments = new Attachments(sessionId, limits.backlog);
    this.delivery = new Delivery(last, {
      rate: limits.updateRate,
      maxSize: limits.updateSize,
      show: (shown, except) => {
        if (this.#early !== undefined) this.#keep(this.#early, shown);
        this.attachments.show(shown, except);
      },
    });
  }

  /** The commands that there are now, for whoever comes. */
  set commands(update: SessionUpdate) {
    this.#commands = update;
  }

  /** The first one also sees what the agent said while the session was opened for it. */
  attach(client: SessionClient): void {
    // It may have left while the session was opened for it.
    if (client.isGone) return;
    const { last } = this.delivery;
    this.attachments.attach(client, last);
    for (const shown of this.#early ?? []) this.attachments.showTo(client, shown);
    this.#early = undefined;
    if (this.#commands !== undefined)
      background(this.#showTo(client, last, this.#commands), "Showing the commands");
  }

  async replayTo(client: SessionClient, after: number): Promise<void> {
    this.attachments.detach(client);
    this.#early = undefined;
    const { notices } = client.capabilities;
    for (let from = after; ;) {
      const upTo = this.delivery.last;
      const options = { upTo, notices, maxCharacters: this.#limits.updateSize / 8 };
      const events = this.#store.read(this.#sessionId, from);
      for await (const { seq, update } of replay(events, options)) {
        await this.#showTo(client, seq, update);
      }
      from = Math.max(from, upTo);
      // Nothing was shown to the others meanwhile, so nothing is missing.
      if (this.delivery.last <= from) break;
    }
    this.attach(client);
  }

  /** Tells what is of this moment only, and not kept. */
  announce(update: SessionUpdate, except: SessionClient | undefined): void {
    for (const shown of this.#shownAs(this.delivery.last, update)) {
      this.attachments.show(shown, except);
    }
  }

  close(): void {
    this.delivery.close();
    for (const client of this.attachments.clients()) this.attachments.detach(client);
  }

  #keep(early: ShownUpdate[], shown: ShownUpdate): void {
    // Of these the last ones are shown to whoever comes.
    if (shown.kind === "available_commands_update") return;
    early.push(shown);
    this.#earlyCharacters += shown.text.length;
    const { updates, characters } = this.#limits.backlog;
    const isTooMuch = early.length > updates || this.#earlyCharacters > characters;
    if (isTooMuch) this.#early = undefined;
  }

  #showTo(client: SessionClient, seq: number, update: SessionUpdate): Promise<void> | undefined {
    if (!isFor(client, update.sessionUpdate)) return undefined;
    let room: Promise<void> | undefined;
    for (const shown of this.#shownAs(seq, update)) {
      room = client.show(this.#sessionId, shown) ?? room;
    }
    return room;
  }

  #shownAs(seq: number, update: SessionUpdate): readonly ShownUpdate[] {
    const pending = { seq, kind: update.sessionUpdate, text: "", update };
    return toShown(pending, this.#limits.updateSize);
  }
}
