import { GitRig } from "./git-rig.ts";

/** A clone, by HTTPS, of a repository that nobody has pushed to. */
export interface CredentialClone {
  readonly cwd: string;
  /** The accounts that have pushed to its repository since. */
  readonly pushers: () => string[];
}

export const ALICES = "token-of-alice-0123456789abcdef";
export const BOBS = "token-of-bob-0123456789abcdefgh";

/** Clones for the tests of credentials, of one rig in which the tokens of alice and bob are stored. */
export class CredentialClones implements AsyncDisposable {
  readonly rig: GitRig;
  #count = 0;

  private constructor(rig: GitRig) {
    this.rig = rig;
  }

  static async start(): Promise<CredentialClones> {
    const rig = await GitRig.start();
    const clones = new CredentialClones(rig);
    clones.configure();
    await rig.must("trunkline identity token set alice", { input: `${ALICES}\n` });
    await rig.must("trunkline identity token set bob", { input: BOBS });
    return clones;
  }

  /** Sets what the tests before may have changed, and more of each identity. */
  configure(more: { readonly alice?: object; readonly bob?: object } = {}): void {
    const { rig } = this;
    const { host, tokens } = rig.forge;
    tokens.set(ALICES, { account: "alice" });
    tokens.set(BOBS, { account: "bob" });
    const identities = { alice: { host, ...more.alice }, bob: { host, ...more.bob } };
    rig.configure({ identities: rig.identities(identities) });
  }

  /** A repository of the team, and a clone of it. */
  make(): CredentialClone {
    this.configure();
    const { rig } = this;
    const name = `team/app${++this.#count}`;
    rig.makeRepository(name);
    const cwd = rig.makeClone(`app${this.#count}`, rig.httpsUrl(name));
    const pushers = () =>
      rig.pushes().flatMap(({ repository, account }) => (repository === name ? [account] : []));
    return { cwd, pushers };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}
