import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { GitRig, type Push } from "./git-rig.ts";

/** A clone of a repository that nobody has pushed to. */
export interface GuardClone {
  readonly name: string;
  readonly cwd: string;
  /** What was pushed to its repository since. */
  readonly pushes: () => Push[];
}

export const COMMIT = "git commit -q --allow-empty -m change";

/** Makes what comes later possible, and is not what is tried: the guard is not asked. */
export const COMMIT_PAST_IT = `${COMMIT} --no-verify`;

export const GUARD_ALICE = ["identity switch alice", "identity guard install"];

/** Clones for the tests of the guard, of one rig. */
export class GuardClones implements AsyncDisposable {
  readonly rig: GitRig;
  /** Switched to alice and guarded. */
  readonly #first: string;
  #count = 0;

  private constructor(rig: GitRig, first: string) {
    this.rig = rig;
    this.#first = first;
  }

  static async start(): Promise<GuardClones> {
    const rig = await GitRig.start();
    rig.configure({ identities: rig.identities() });
    const cwd = rig.makeClone("first", rig.sshUrl("alice/first"));
    await rig.inProcess(GUARD_ALICE, { cwd });
    return new GuardClones(rig, cwd);
  }

  /** A repository of this owner's, and a clone of it. */
  make(owner = "alice"): GuardClone {
    const { rig } = this;
    const name = `${owner}/app${++this.#count}`;
    rig.configure({ identities: rig.identities() });
    rig.makeRepository(name);
    const pushes = () => rig.pushes().filter(({ repository }) => repository === name);
    return { name, cwd: rig.makeClone(`app${this.#count}`, rig.sshUrl(name)), pushes };
  }

  /** One that is switched to alice and guarded: by what that made of another. */
  guarded(owner?: string): GuardClone {
    const clone = this.make(owner);
    const file = join(clone.cwd, ".git/config");
    const url = readFileSync(file, "utf8").match(/url = .*/)?.[0] ?? "";
    const config = readFileSync(join(this.#first, ".git/config"), "utf8");
    cpSync(join(this.#first, ".git/hooks"), join(clone.cwd, ".git/hooks"), { recursive: true });
    writeFileSync(file, config.replace(/url = .*/, url));
    return clone;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}
