import assert from "node:assert/strict";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { SessionReader } from "../../../src/store/session/session-reader.ts";
import { Place } from "../acp-editor.ts";
import type { Json } from "../acp-app.ts";
import { readyOf } from "../owner-access.ts";
import { Program } from "../program.ts";
import { gone } from "../running-at.ts";
import { SeededRandom } from "../seeded-random.ts";
import type { SessionTakeover } from "../session-takeover.ts";
import type { Target } from "./client-lines.ts";
import { EditorMember } from "./editor-member.ts";
import type { Member, Outcome } from "./member.ts";
import { type View, viewOfEvents } from "./shown.ts";
import { TerminalMember } from "./terminal-member.ts";
import { DashboardMember, SdkMember } from "./told-members.ts";

const AGENT = join(import.meta.dirname, "../acp-agent.mjs");
const CONFIG = {
  agent: "other",
  agents: { other: { command: process.execPath, args: [AGENT, "--loads"] } },
};
/** Who is killed in turn. "holder" is whichever process has the session. */
const TARGETS = ["editor", "holder", "sdk", "serve", "terminal", "holder", "dashboard"] as const;
const MEMBERS = ["editor", "sdk", "terminal", "dashboard"] as const;
/** Milliseconds after which what is waited for has failed; it takes some hundred. */
const PATIENCE = 60_000;

type Name = (typeof MEMBERS)[number];
type Killable = Name | "serve";

/** What happened in a number of kills. */
export interface Killings {
  readonly kills: Readonly<Record<Killable, number>>;
  /** Of the kills of the process that held the session. */
  readonly takeovers: readonly SessionTakeover[];
  /** Events of the session in the end. */
  readonly events: number;
}

/**
 * An editor on standard streams, a client on a WebSocket, a terminal and a page of the dashboard are in
 * one session, each with a process of its own, beside the gateway of the last two. One process after
 * another is killed and starts again. All four must be shown what the log has, all of it, once.
 */
export async function killFour(kills: number, seed: number): Promise<Killings> {
  await using room = await Room.open(seed);
  for (let at = 0; at < kills; at++) await room.kill(TARGETS[at % TARGETS.length] ?? "holder");
  return room.killings;
}

class Room implements AsyncDisposable {
  readonly #place = new Place();
  readonly #random: SeededRandom;
  readonly #kills = { editor: 0, sdk: 0, terminal: 0, dashboard: 0, serve: 0 };
  readonly #takeovers: SessionTakeover[] = [];
  #events: Json[] = [];
  #reader!: SessionReader;
  #serve!: Program;
  #target!: Target;
  #editor!: EditorMember;
  #sdk = new SdkMember();
  #terminal!: TerminalMember;
  #dashboard = new DashboardMember();
  #turns = 0;
  /** What the turn before asked when it was interrupted. It is withdrawn when the next one begins. */
  #unanswered = "";

  private constructor(seed: number) {
    this.#random = new SeededRandom(seed);
  }

  static async open(seed: number): Promise<Room> {
    const room = new Room(seed);
    // The editor writes the configuration.
    const place = room.#place;
    room.#editor = await EditorMember.open(place, CONFIG);
    const { sessionId } = room.#editor;
    room.#reader = await SessionReader.open(join(place.home, ".local/state/trunkline"));
    await room.#startServe(sessionId);
    await room.#joinClients();
    room.#terminal = await TerminalMember.open(place, sessionId);
    return room;
  }

  get killings(): Killings {
    return { kills: this.#kills, takeovers: this.#takeovers, events: this.#events.length };
  }

  /** A turn, in whose middle a process is killed; afterwards all have seen the same. */
  async kill(target: (typeof TARGETS)[number]): Promise<void> {
    const isQuestion = this.#random.below(3) === 0;
    const tag = `t${++this.#turns}`;
    // What is typed in a terminal that asks something is an answer.
    const free = this.#unanswered === "" ? MEMBERS : MEMBERS.filter((name) => name !== "terminal");
    const asker = this.#random.pick(free);
    const words = `${isQuestion ? "permission" : "forever"} ${tag}`;
    // Who is killed itself never hears how it ended.
    const ended = this.#member(asker)
      .prompt(words)
      .catch((error: unknown): Outcome => ({ error }));
    const title = `Run ${tag}`;
    const isAsked = ({ asked }: Member): boolean => asked.open.has(title);
    if (isQuestion) await this.#all(isAsked, `asked ${tag}`);
    else await this.#said(`${tag}:${this.#random.below(60)}`);
    const left = this.#unanswered;
    await this.#all(({ asked }) => !asked.open.has(left), `withdrawn ${left}, ${words}`);

    const holder = await this.#holder();
    const dies = target === "holder" ? this.#nameOf(holder) : target;
    const wasHolder = this.#nameOf(holder) === dies;
    const says = `turn ${tag} of ${asker}, ${dies} killed${wasHolder ? ", the holder" : ""}`;
    this.#kills[dies]++;
    const isCutOff = dies === asker || (dies === "serve" && isOfServe(asker));
    await this.#end(dies);
    const since = performance.now();
    if (wasHolder) await this.#takenOver(dies);
    else if (!isQuestion) this.#survivor(dies).cancel();
    const begin = performance.now();
    await this.#start(dies);
    const joining = performance.now() - begin;
    if (wasHolder) this.#takeovers.push({ milliseconds: begin - since, joining });
    // Also by whoever has the session next: an answer counts for the next turn that asks the same.
    this.#unanswered = wasHolder && isQuestion ? title : "";
    if (isQuestion) await this.#all(isAsked, `asked again, ${says}`);
    if (isQuestion && !wasHolder) {
      this.#member(this.#random.pick(MEMBERS)).allow(title);
    }
    await this.#same(says);
    if (!isCutOff) checkOutcome(await ended, wasHolder, isQuestion, says);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#reader[Symbol.dispose]();
    const programs = MEMBERS.map((name) => this.#member(name).program);
    for (const { child } of programs) child.stdin.end();
    await Promise.all(programs.map(({ exit }) => exit));
    this.#serve.child.kill("SIGTERM");
    assert.equal(await this.#serve.exit, 0, this.#serve.stderr);
    for (const program of [...programs, this.#serve]) await program[Symbol.asyncDispose]();
    await gone(this.#place.home);
    this.#place[Symbol.dispose]();
  }

  #member(name: Name): Member {
    const { editor, sdk, terminal, dashboard } = {
      editor: this.#editor,
      sdk: this.#sdk,
      terminal: this.#terminal,
      dashboard: this.#dashboard,
    };
    return { editor, sdk, terminal, dashboard }[name];
  }

  /** Somebody else who is still connected. */
  #survivor(dies: Killable): EditorMember | SdkMember {
    return dies === "editor" ? this.#sdk : this.#editor;
  }

  async #end(dies: Killable): Promise<void> {
    const { program, pid } =
      dies === "serve"
        ? { program: this.#serve, pid: this.#serve.child.pid ?? 0 }
        : this.#member(dies);
    process.kill(pid, "SIGKILL");
    await program.exit;
    await program[Symbol.asyncDispose]();
  }

  /** Waits until a request about the session is answered by whoever has it now. */
  async #takenOver(dies: Killable): Promise<void> {
    const modeId = this.#turns % 2 === 0 ? "code" : "ask";
    await this.#survivor(dies).setMode(modeId);
  }

  async #start(dies: Killable): Promise<void> {
    const { sessionId } = this.#editor;
    if (dies === "editor") this.#editor = await EditorMember.open(this.#place, CONFIG, sessionId);
    else if (dies === "terminal") {
      this.#terminal = await TerminalMember.open(this.#place, sessionId);
    } else if (dies === "sdk") {
      this.#sdk = new SdkMember();
      await this.#sdk.join(this.#target);
    } else if (dies === "dashboard") {
      this.#dashboard = new DashboardMember();
      await this.#dashboard.join(this.#target);
    } else {
      await this.#startServe(sessionId);
      await this.#joinClients();
    }
  }

  async #startServe(sessionId: string): Promise<void> {
    const { path, home, folder: cwd } = this.#place;
    const args = ["serve", "--config", join(path, "config.jsonc"), "--port", "0", "--json"];
    this.#serve = new Program(args, { env: { HOME: home, TMPDIR: home } });
    const [line] = await this.#serve.answers(1);
    const { url, acp, headers } = readyOf(line);
    this.#target = { url, acp, headers, sessionId, cwd };
  }

  async #joinClients(): Promise<void> {
    await Promise.all([this.#sdk.join(this.#target), this.#dashboard.join(this.#target)]);
  }

  async #holder(): Promise<number> {
    const found = await this.#reader.find(this.#editor.sessionId);
    return Number.parseInt(found?.holder ?? "", 10);
  }

  #nameOf(pid: number): Killable {
    const found = MEMBERS.find((name) => this.#member(name).pid === pid);
    if (found !== undefined) return found;
    assert.equal(pid, this.#serve.child.pid, "one of them has the session");
    return "serve";
  }

  /** The log of the session, of which only what is new is read. */
  async #log(): Promise<readonly Json[]> {
    for (;;) {
      const from = this.#events.length + 1;
      const read = await this.#reader.events(this.#editor.sessionId, from, 1_000);
      if (read.length === 0) return this.#events;
      this.#events.push(...read.map(({ message }) => message as Json));
    }
  }

  async #said(piece: string): Promise<void> {
    await until(async () => viewOfEvents(await this.#log()).pieces.includes(piece), piece);
  }

  async #all(holds: (member: Member) => boolean, what: string): Promise<void> {
    const missing = (): Name[] => MEMBERS.filter((name) => !holds(this.#member(name)));
    await until(
      async () => missing().length === 0,
      () => `${what}: not ${missing().join(", ")}`,
    );
  }

  /** The turn has ended, and each of them was shown what the log has. */
  async #same(says: string): Promise<void> {
    const count = (kind: string): number =>
      this.#events.filter((each) => each.kind === kind).length;
    await until(
      async () => (await this.#log()) !== undefined && count("end") === this.#turns,
      () => `${count("end")} of ${this.#turns} turns ended, ${says}`,
    );
    const wanted = sorted(viewOfEvents(await this.#log()));
    const views = (): View[] => MEMBERS.map((name) => sorted(this.#member(name).view));
    const isSame = async (): Promise<boolean> =>
      views().every((view) => JSON.stringify(view) === JSON.stringify(wanted));
    await until(isSame, "").catch(() => {
      for (const [at, view] of views().entries()) {
        const who = `${MEMBERS[at]}, ${says}, seed ${this.#random.seed}`;
        assert.deepEqual(differences(view, wanted), differences(wanted, wanted), who);
      }
    });
    const { numbers } = this.#dashboard;
    const all = numbers.map((_, at) => at + 1);
    assert.deepEqual(numbers, all, `every event once, in order: ${says}`);
  }
}

/** Prompts of its own are not shown to a client, so the order of all is not known to it. */
function sorted(view: View): View {
  return { ...view, prompts: view.prompts.toSorted() };
}

/** What one was not shown, or shown more than once or in another order. */
function differences(view: View, wanted: View): object {
  const missing = wanted.pieces.filter((piece) => !view.pieces.includes(piece));
  const twice = view.pieces.filter((piece, at) => view.pieces.indexOf(piece) !== at);
  const ordered = view.pieces.join(" ") === wanted.pieces.join(" ");
  return { missing, twice, ordered, prompts: view.prompts, interrupted: view.interrupted };
}

function isOfServe(name: Name): boolean {
  return name === "sdk" || name === "dashboard";
}

function checkOutcome(
  outcome: Outcome,
  wasHolder: boolean,
  isQuestion: boolean,
  says: string,
): void {
  // A terminal and a page see the end of a turn as everybody does.
  if (outcome === undefined) return;
  if (wasHolder) assert.deepEqual(outcome.error?.data, { interrupted: true }, says);
  else assert.equal(outcome.stopReason, isQuestion ? "end_turn" : "cancelled", says);
}

async function until(holds: () => Promise<boolean>, what: string | (() => string)): Promise<void> {
  const giveUp = performance.now() + PATIENCE;
  while (!(await holds())) {
    if (performance.now() > giveUp) {
      throw new Error(`Waited in vain: ${typeof what === "string" ? what : what()}`);
    }
    await delay(10);
  }
}
