import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

import { runFromShell } from "../run-from-shell.ts";
import { GitRig } from "../git-rig/git-rig.ts";
import { Program } from "../program.ts";
import { checkBranches } from "../remote-run/check-branches.ts";
import type { SoakTurn, Target } from "../remote-run/soak-session.ts";
import type { SeededRandom } from "../seeded-random.ts";
import { ChaosClient, type Surroundings } from "./chaos-client.ts";
import type { ChaosFleetOptions } from "./chaos-fleet.ts";

const TOKEN = "token-of-alice-0123456789abcdef";
const REPOSITORY = "team/app";
/** Milliseconds. */
const PROMPT_WITHIN = 240_000;
const LONGEST_WORK = 1_500;
const LONGEST_REST = 4_000;

/** A forge with a repository that runs of the fleet work on. */
export class ChaosForge implements AsyncDisposable {
  readonly rig: GitRig;
  readonly #revision: string;

  private constructor(rig: GitRig, revision: string) {
    this.rig = rig;
    this.#revision = revision;
  }

  static async start(): Promise<ChaosForge> {
    const rig = await GitRig.start();
    rig.forge.tokens.set(TOKEN, { account: "alice" });
    rig.makeRepository(REPOSITORY);
    const clone = rig.makeClone("app", rig.httpsUrl(REPOSITORY));
    const git = (...args: string[]): string =>
      runFromShell("git", ["-C", clone, ...args], { env: rig.env }).trim();
    writeFileSync(join(clone, "README.md"), "hello\n");
    git("add", ".");
    git("-c", "user.name=Ida", "-c", "user.email=ida@example.com", "commit", "-qm", "Begin");
    const forge = new ChaosForge(rig, git("rev-parse", "HEAD"));
    git("push", "--quiet", forge.bare, "HEAD:main");
    return forge;
  }

  get bare(): string {
    return join(this.rig.root, "repositories", `${REPOSITORY}.git`);
  }

  /** What the nodes of a fleet need to work on it. */
  get settings(): Pick<ChaosFleetOptions, "config" | "env" | "prepare"> {
    const { host, caFile } = this.rig.forge;
    const { alice } = this.rig.identities({
      alice: { host, match: [{ remote: `https://${host}/*` }] },
    }) as { readonly alice: object };
    const env = {
      GIT_CONFIG_NOSYSTEM: "1",
      GIT_SSL_CAINFO: caFile,
      NODE_EXTRA_CA_CERTS: caFile,
      TRUNKLINE_TOKEN_STORE: "file",
    };
    return {
      config: { remote: { allowPrivate: true }, identities: { alice } },
      env,
      prepare: async (name, fleet) => {
        const place = ["--data", fleet.dataOf(name), "--config", fleet.configOf(name)];
        await using setting = new Program(["identity", "token", "set", "alice", ...place], { env });
        setting.child.stdin.end(`${TOKEN}\n`);
        assert.equal(await setting.exit, 0, setting.stderr);
      },
    };
  }

  /** The request with which an IDE begins a run. */
  get opening(): object {
    const url = this.rig.httpsUrl(REPOSITORY);
    const remote = { url, branch: "main", revision: this.#revision };
    return { cwd: "", mcpServers: [], _meta: { remote } };
  }

  /** Throws unless each finished turn is on the branch of its session once, and was pushed once. */
  check(runs: readonly ChaosRun[]): void {
    checkBranches(this.bare, runs);
    const pushes = this.rig.pushes().map(({ ref, head }) => `${ref} ${head}`);
    assert.deepEqual(pushes, [...new Set(pushes)], "a commit was pushed twice");
    for (const { turns } of runs) {
      for (const { target } of turns) {
        if (target === undefined) continue;
        assert.ok(pushes.includes(`refs/heads/${target.branch} ${target.revision}`));
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}

/** An IDE with a remote run, each of whose turns writes a file that is pushed. */
export class ChaosRun implements Disposable {
  readonly name: string;
  readonly client: ChaosClient;
  readonly turns: SoakTurn[] = [];
  target: Target | undefined;
  readonly #forge: ChaosForge;
  readonly #random: SeededRandom;

  constructor(name: string, forge: ChaosForge, around: Surroundings, random: SeededRandom) {
    this.name = name;
    this.#forge = forge;
    this.#random = random;
    this.client = new ChaosClient(around, random);
  }

  get id(): string {
    return this.client.id;
  }

  /** Prompts until it is told to stop, and then until one more branch was pushed. */
  async work(isOver: () => boolean): Promise<void> {
    const { _meta } = await this.client.begin(this.#forge.opening);
    this.target = _meta.target as Target;
    while (!isOver()) {
      await this.#turn();
      await delay(this.#random.below(LONGEST_REST));
    }
    do await this.#turn();
    while (this.turns.at(-1)?.run === undefined);
  }

  [Symbol.dispose](): void {
    this.client[Symbol.dispose]();
  }

  async #turn(): Promise<void> {
    const at = this.turns.length;
    const content = `turn ${at} of ${this.name}`;
    const turn: SoakTurn = { file: `${this.name}-${at}.txt`, content };
    const line = await this.client.joined();
    using _watch = this.client.leaveLater(line, 60_000);
    const works = this.#random.below(LONGEST_WORK);
    this.turns.push(turn);
    const answer = await this.client.prompt(
      line,
      `put ${turn.file}|${content}|${works}`,
      PROMPT_WITHIN,
    );
    const { target, trunkline } = answer?.result?._meta ?? {};
    if (trunkline?.run !== "pushed") return;
    turn.run = trunkline.run;
    turn.target = target;
  }
}
