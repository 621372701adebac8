import type { Profile } from "../profile/profile.ts";
import type { Approver } from "../tool-registry.ts";

/** What another server says about itself to a model. */
export interface ServerText {
  readonly server: string;
  readonly text: string;
  /** The name under which it is approved; by default that of instructions. */
  readonly name?: string;
}

/**
 * Stands for the name of a tool where a person approves instructions: `trunkline tool approve
 * notes/@instructions`.
 */
export const INSTRUCTIONS_NAME = "@instructions";

/** Begins the name of a skill, where a person approves it. */
export const SKILL_PREFIX = "@skill ";

/**
 * The instructions of other servers. A model follows them, so they need the same approval as the description
 * of a tool: new or changed instructions are held until a person has looked at them.
 */
export class ServerInstructions {
  readonly #approver: Approver | undefined;
  /** By person; those for everybody under `undefined`. */
  readonly #all = new Map<string | undefined, readonly ServerText[]>();

  constructor(approver: Approver | undefined) {
    this.#approver = approver;
  }

  /** Replaces the texts of all servers, in the order in which they are passed on. */
  replace(all: readonly ServerText[], person?: string): void {
    this.#all.set(person, all);
    // Judged at once, so that what is seen first is on record before it can change.
    for (const one of all) this.isApproved(one);
  }

  /** What may be passed on to a client. */
  list(profile?: Profile, person?: string): readonly ServerText[] {
    const own = person === undefined ? [] : (this.#all.get(person) ?? []);
    return [...(this.#all.get(undefined) ?? []), ...own].filter((one) => {
      return profile?.hasServer(one.server) !== false && this.isApproved(one);
    });
  }

  /** The servers whose instructions wait for a person. */
  held(): readonly string[] {
    const waiting = [...this.#all.values()].flat().filter((one) => !this.isApproved(one));
    return [...new Set(waiting.map(({ server }) => server))];
  }

  /** Whether a model may get a text of another server as it is now. */
  isApproved({ server, text, name = INSTRUCTIONS_NAME }: ServerText): boolean {
    if (this.#approver === undefined) return true;
    const described = { name, description: text, inputSchema: {} };
    return this.#approver.judge(server, described) === "approved";
  }
}
