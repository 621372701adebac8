import type { Msg, Subscription } from "@nats-io/transport-node";
import { objectIn } from "../../base/check.ts";
import { background } from "../../base/background.ts";
import { TrunklineError } from "../../base/errors.ts";
import { untilAborted } from "../../base/abort.ts";
import type { FleetConnection } from "../connection/connect.ts";
import { answerNodes, isId, isThere, type NodeAddress, THERE } from "../connection/node-server.ts";

/** `observer`: only looks, such as a command that shows the fleet. It is no member. */
export type Role = "gateway" | "worker" | "observer";

/** The state that a node publishes with its heartbeats. */
export interface NodeState {
  readonly role: Role;
  readonly version: string;
  /** Of a gateway: where its clients connect. */
  readonly url?: string | undefined;
  /** Sessions that a worker runs at once, and how many of these places are taken. */
  readonly slots: number;
  readonly used: number;
  readonly labels: Readonly<Record<string, string>>;
  /** Repositories whose objects a worker has in its cache. */
  readonly warm: readonly string[];
  /** It finishes its turns and gives its sessions away. */
  readonly isDraining: boolean;
  /** It has given all its sessions away, and ends. */
  readonly isDrained?: boolean | undefined;
  /** Sessions that a worker has open. */
  readonly sessions: number;
  /** Tools of its MCP servers and plugins, which it offers to the other nodes. */
  readonly tools?: number | undefined;
  /** Of a gateway: requests of its clients that wait for a free slot. */
  readonly waiting: readonly QueuedRequests[];
}

/** Requests that ask for the same labels. */
export interface QueuedRequests {
  readonly labels: Readonly<Record<string, string>>;
  readonly count: number;
}

export interface Member extends NodeAddress, NodeState {}

/** A heartbeat. */
export interface Beat {
  readonly id: string;
  readonly number: number;
  /** It ends now. */
  readonly isLeaving: boolean;
  readonly state: NodeState;
}

const MOST_WARM = 100;
const MOST_LABELS = 100;
/** Characters of a label or another text. */
const LONGEST = 1_000;
const MOST_QUEUES = 1_000;

export function encodeBeat(beat: Beat): string {
  const { state } = beat;
  return JSON.stringify({ ...beat, state: { ...state, warm: state.warm.slice(0, MOST_WARM) } });
}

/** Undefined for what is no beat. */
export function readBeat(text: string): Beat | undefined {
  const value: Partial<Record<keyof Beat, unknown>> = objectIn(text) ?? {};
  const state = readState(value.state);
  const { id, number, isLeaving } = value;
  if (!isId(id) || state === undefined) return undefined;
  return { id, number: asNumber(number), isLeaving: isLeaving === true, state };
}

/** A node of another version may tell more or less than this one knows. */
function readState(given: unknown): NodeState | undefined {
  const value = (given ?? {}) as Partial<Record<keyof NodeState, unknown>>;
  const { role, version, url, warm } = value;
  if (role !== "gateway" && role !== "worker" && role !== "observer") return undefined;
  return {
    role,
    version: isText(version) ? version : "0.0.0",
    url: isText(url) ? url : undefined,
    slots: asNumber(value.slots),
    used: asNumber(value.used),
    labels: asLabels(value.labels),
    warm: asList(warm).filter(isText).slice(0, MOST_WARM),
    isDraining: value.isDraining === true,
    isDrained: value.isDrained === true,
    sessions: asNumber(value.sessions),
    tools: asNumber(value.tools),
    waiting: asList(value.waiting).slice(0, MOST_QUEUES).map(readQueued),
  };
}

function readQueued(given: unknown): QueuedRequests {
  const { labels, count } = (given ?? {}) as Partial<Record<keyof QueuedRequests, unknown>>;
  return { labels: asLabels(labels), count: asNumber(count) };
}

function asNumber(value: unknown): number {
  return typeof value === "number" && Number.isFinite(value) && value > 0 ? value : 0;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}

function isText(value: unknown): value is string {
  return typeof value === "string" && value.length <= LONGEST;
}

function asLabels(value: unknown): Record<string, string> {
  if (typeof value !== "object" || value === null) return {};
  const entries = Object.entries(value) as [string, unknown][];
  const labels = entries.filter((entry): entry is [string, string] => entry.every(isText));
  return Object.fromEntries(labels.slice(0, MOST_LABELS));
}

/** Milliseconds. */
const BEAT_EVERY = 1_000;
/** Changes within this time are sent as one message. */
const TELL_AFTER = 20;
/** A node counts as dead if so many of our own beats came back since its last one. */
const DEAD_AFTER = 4;
/** The same if another node already counts it as dead. */
const DOUBTFUL_AFTER = 2;
/** After so many beats NATS is asked whether it has the node's connection. Other nodes then count it as dead. */
const ASKED_AFTER = DOUBTFUL_AFTER + 1;
/** Intervals after which a beat that did not come back is sent again. */
const RESEND_AFTER = 3;

export interface MemberChange {
  readonly kind: "joined" | "changed" | "lost";
  readonly member: Member;
}

/** Another node with the name of this one. */
interface Twin {
  readonly member: Member;
  /** It was there before this node. */
  readonly wasFirst: boolean;
}

interface MembersOptions {
  readonly connection: FleetConnection;
  readonly self: NodeAddress;
  /** The state for the next beat. */
  readonly state: () => NodeState;
  /** Milliseconds between beats. */
  readonly beatEvery?: number | undefined;
  /** Asks NATS for the connections of nodes that fall silent, which only gateways may. */
  readonly asks?: boolean | undefined;
}

/**
 * Tells the pool that this node is alive, once it has joined, and knows which others are.
 *
 * Each node hears its own beats too, and these are its clock: a node is dead once four of our own beats
 * came back since its last one. So no time counts in which NATS was away or paused, our connection was
 * cut, or this process was stopped. Only the latest beat counts when it comes back, since a server that
 * wakes up delivers a whole heap of them in any order.
 *
 * A node whose process was killed is lost sooner: after three beats NATS is asked whether it still has the
 * node's connection. That says nothing until the node was heard on our own present connection: when NATS
 * was restarted, the other nodes may come back later than this one.
 */
export class Members implements Disposable {
  readonly connection: FleetConnection;
  /** This node. */
  readonly self: NodeAddress;
  readonly #options: MembersOptions;
  readonly #heard = new Map<string, { member: Member; at: number; gone: AbortController }>();
  /** Members that another node counts as dead and this one, which has just started, has not heard. */
  readonly #doubted = new Set<string>();
  readonly #twin = Promise.withResolvers<Twin>();
  readonly #listeners = new Set<(change: MemberChange) => void>();
  readonly #ready = Promise.withResolvers<void>();
  readonly #subscription: Subscription;
  readonly #stopWatching: () => void;
  readonly #answers: Subscription;
  #timer: NodeJS.Timeout | undefined;
  #telling: NodeJS.Timeout | undefined;
  #number = 0;
  #hasReturned = true;
  #waited = 0;
  /** Own beats that came back. */
  #now = 0;
  /** When this node was connected last. */
  #connected = -1;

  constructor(options: MembersOptions) {
    const { connection, self } = options;
    this.connection = connection;
    this.self = self;
    this.#options = options;
    const beats = `${connection.subjects.beat}.*`;
    this.#subscription = connection.listen(beats, (message) => this.#receive(message));
    this.#stopWatching = connection.onChange(() => {
      this.#hasReturned = true;
      this.#connected = this.#now;
      this.tell();
    });
    this.#answers = answerNodes(connection, self, THERE, () => null);
  }

  /** Begins to beat: this node can be reached now. */
  join(): void {
    this.#timer = setInterval(() => this.#tick(), this.#options.beatEvery ?? BEAT_EVERY);
    this.#beat();
  }

  /** The state of this node. */
  get state(): NodeState {
    return this.#options.state();
  }

  /** The members that are alive, including this node, by name. */
  get alive(): Member[] {
    const members = this.#heard.values().map(({ member }) => member);
    return [...members].toSorted((one, other) => (one.name < other.name ? -1 : 1));
  }

  /** Whether it was observed long enough to know that a node which was not heard is dead. */
  get isReady(): boolean {
    return this.#now > DEAD_AFTER;
  }

  /** Whether a member has missed a beat or two. It may be paused or cut off, and is not dead yet. */
  isSilent(id: string): boolean {
    const known = this.#heard.get(id);
    return known !== undefined && this.#now - known.at >= DOUBTFUL_AFTER;
  }

  /**
   * Resolves when another node is known to have the name of this one. One that is heard only until this
   * node knows who is alive is its own earlier process.
   */
  get twin(): Promise<Twin> {
    return this.#twin.promise;
  }

  /** A member that counts as alive. */
  get(id: string): Member | undefined {
    return this.#heard.get(id)?.member;
  }

  /**
   * Whether that node may be alive. While this is unknown, it may be, unless another node counts it as dead.
   */
  mayLive(id: string): boolean {
    if (this.get(id) !== undefined) return true;
    return !this.isReady && !this.#doubted.has(id);
  }

  /** Aborted when that member counts as dead; undefined if it does already. */
  untilGone(id: string): AbortSignal | undefined {
    return this.#heard.get(id)?.gone.signal;
  }

  /**
   * Another node counts a member as dead. So does this one then, unless it has heard from it lately:
   * both would notice, but not in the same second. A node that has just started believes it: sessions of
   * a worker that was lost come to it first, since it has the most free slots.
   */
  doubt(id: string): void {
    if (this.isSilent(id)) this.#lose(id);
    else if (!this.isReady && !this.#heard.has(id)) this.#doubted.add(id);
  }

  /**
   * The member, or undefined if it is dead. Waits while that cannot be known, since a node that starts
   * has heard nobody yet.
   */
  async find(id: string, signal?: AbortSignal): Promise<Member | undefined> {
    while (this.get(id) === undefined && this.mayLive(id)) await this.next(signal);
    return this.get(id);
  }

  /** Resolves with the next change, or when the members are known. */
  async next(signal?: AbortSignal): Promise<void> {
    const changed = Promise.withResolvers<void>();
    using ends = new DisposableStack();
    ends.defer(this.onChange(() => changed.resolve()));
    const ready = this.isReady ? [] : [this.#ready.promise];
    await untilAborted(Promise.race([changed.promise, ...ready]), signal);
  }

  /** Publishes changes of this node soon, such as a slot that is free again. */
  tell(): void {
    this.#telling ??= setTimeout(() => {
      this.#telling = undefined;
      this.#publish(0);
    }, TELL_AFTER);
  }

  /** Calls back for members that join, change or are lost. Returns how to stop that. */
  onChange(listener: (change: MemberChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells the other nodes that this one leaves. */
  [Symbol.dispose](): void {
    clearTimeout(this.#telling);
    this.#stopWatching();
    this.#subscription.unsubscribe();
    this.#answers.unsubscribe();
    this.#listeners.clear();
    this.#publish(0, true);
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #tick(): void {
    this.#waited++;
    if (this.#hasReturned || this.#waited >= RESEND_AFTER) this.#beat();
  }

  #beat(): void {
    this.#waited = 0;
    this.#hasReturned = false;
    this.#number++;
    this.#publish(this.#number);
  }

  /** Only beats with a number count as time when they come back. */
  #publish(number: number, isLeaving = false): void {
    const { connection, self, state } = this;
    if (this.#timer === undefined || !connection.isConnected) return;
    const beat: Beat = { id: self.id, number, isLeaving, state };
    connection.nats.publish(`${connection.subjects.beat}.${self.name}`, encodeBeat(beat));
  }

  #receive(message: Msg): void {
    const { subject, reply, headers } = message;
    const prefix = `${this.connection.subjects.beat}.`;
    // What JetStream delivers has another subject, and one for an answer: whoever stored it forged it.
    const isDelivered = Boolean(reply) || headers !== undefined;
    if (isDelivered || !subject.startsWith(prefix)) return;
    const beat = readBeat(message.string());
    if (beat === undefined) return;
    // Trust the subject, which the server checks, not the message.
    const name = subject.slice(prefix.length);
    this.#hear(beat, name);
    if (beat.id === this.self.id && beat.number === this.#number) this.#returned();
  }

  #hear({ id, number, isLeaving, state }: Beat, name: string): void {
    const member: Member = { ...state, id, name };
    const known = this.#heard.get(member.id);
    if (member.role === "observer" || (known !== undefined && known.member.name !== name)) return;
    if (isLeaving) {
      // Its last heartbeat says how it ends.
      if (known !== undefined) known.member = member;
      this.#lose(member.id);
      return;
    }
    const { gone = new AbortController() } = known ?? {};
    this.#heard.set(member.id, { member, at: this.#now, gone });
    if (name === this.self.name && number > 0 && this.isReady) this.#meet(member, number);
    if (known === undefined) this.#notify({ kind: "joined", member });
    else if (JSON.stringify(known.member) !== JSON.stringify(member))
      this.#notify({ kind: "changed", member });
  }

  /** A node with this one's name: whoever has sent more beats was there first. */
  #meet(member: Member, number: number): void {
    const { id } = this.self;
    if (member.id === id) return;
    const wasFirst = number === this.#number ? member.id < id : number > this.#number;
    this.#twin.resolve({ member, wasFirst });
  }

  #returned(): void {
    if (this.#hasReturned) return;
    this.#hasReturned = true;
    this.#now++;
    for (const [id, { member, at }] of this.#heard) {
      const missed = this.#now - at;
      if (missed > DEAD_AFTER) this.#lose(id);
      else if (this.#options.asks === true && missed === ASKED_AFTER && at > this.#connected) {
        background(this.#ask(member), "Asking whether a node is there");
      }
    }
    if (!this.isReady) return;
    this.#ready.resolve();
    this.#doubted.clear();
  }

  /** Loses a silent member whose connection to NATS is closed. */
  async #ask(member: Member): Promise<void> {
    if (!(await isThere(this.connection, member))) this.doubt(member.id);
  }

  #lose(id: string): void {
    const known = this.#heard.get(id);
    if (known === undefined || !this.#heard.delete(id)) return;
    const { name } = known.member;
    known.gone.abort(new TrunklineError("unavailable", `Node '${name}' is gone.`));
    this.#notify({ kind: "lost", member: known.member });
  }

  #notify(change: MemberChange): void {
    for (const listener of this.#listeners) listener(change);
  }
}
