import { dirname, join, resolve } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { selfCommand } from "../base/process/self-command.ts";
import { mask, maskText } from "../base/text/mask.ts";
import { Git } from "../git/git.ts";
import {
  type CredentialVerdict,
  answerCredential,
  rejectedIdentity,
  parseCredential,
  QUIT,
} from "./credential/credential-helper.ts";
import {
  helperCommand,
  helperFile,
  type OwnProgram,
  writeHelperFile,
  removeHelperFile,
} from "./credential/helper-command.ts";
import { type GuardPass, GuardPasses } from "./guard/guard-pass.ts";
import {
  type GuardStatus,
  installGuard,
  removeGuard,
  guardStatus,
  writeTrailerHooks,
} from "./guard/install-guard.ts";
import { type AgentCommitRule, personaOf, ruleFor } from "./agent-commits.ts";
import { type GuardQuestion, type GuardVerdict, judge } from "./guard/guard.ts";
import { writeAllowedSigners } from "./signing/commit-signer.ts";
import type { AppliedChange, ChangePlan } from "./switch/apply.ts";
import {
  environmentPlan,
  type EnvironmentPlan,
  type GitSettingsOptions,
  SIGNERS_KEY,
  withIdentity,
} from "./git-settings.ts";
import type { Identity } from "./identity.ts";
import { SecurityModes } from "./tools/security-mode.ts";
import {
  type DetectionPlace,
  placeOf,
  readGitContext,
  readRepositoryContext,
} from "./detect/detect.ts";
import {
  type SigningReadiness,
  quietRunner,
  forgetPassphrases,
  signingReadiness,
} from "./signing/signing-readiness.ts";
import { TokenCommands } from "./tokens/token-commands.ts";
import {
  forgeVariables,
  type ForgeVariables,
  isExpired,
  replaceForgeVariables,
  Tokens,
} from "./tokens/tokens.ts";
import {
  type Readiness,
  type ValidateOptions,
  type Validation,
  validateIdentity,
  identityReadiness,
} from "./validate/validate.ts";
import { AuditLog } from "../store/audit/audit-log.ts";
import { Identities, type IdentitiesOptions, type SwitchRequest } from "./identities.ts";

export interface IdentityCommandsOptions extends IdentitiesOptions {
  /** Prompts the person for the token file's passphrase, if there is one. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

/** The guard's decision on a commit or a push. */
export interface GuardOutcome extends GuardVerdict {
  readonly isAllowed: boolean;
  /** Why it is allowed in spite of problems. */
  readonly override: string | undefined;
}

/** Identities with their tokens and guard. Both write to the audit. */
export class IdentityCommands implements AsyncDisposable {
  readonly identities: Identities;
  readonly tokens: Tokens;
  readonly tokenCommands: TokenCommands;
  readonly passes: GuardPasses;
  readonly modes: SecurityModes;
  readonly #options: IdentityCommandsOptions;
  #audit: AuditLog | undefined;

  constructor(options: IdentityCommandsOptions) {
    const { data, env, ask } = options;
    this.#options = options;
    this.identities = new Identities(options);
    this.tokens = new Tokens({ data, configFolder: dirname(this.identities.file), env, ask });
    this.tokenCommands = new TokenCommands(this.tokens, env, {
      saved: async ({ name }) => {
        await writeHelperFile(new Git("/", { env }), helperFile(data, name), this.credentialHelper);
      },
      cleared: async ({ name }) => {
        await removeHelperFile(helperFile(data, name));
      },
    });
    this.passes = new GuardPasses(data);
    this.modes = new SecurityModes(data);
  }

  get folder(): string {
    return this.#options.cwd;
  }

  get env(): NodeJS.ProcessEnv {
    return this.#options.env;
  }

  /** How git and hooks start us, with the same configuration and data folder as this run. */
  get program(): OwnProgram {
    const { data, file } = this.#options;
    return { command: selfCommand(), ...(file.isNamed ? { config: file.path } : {}), data };
  }

  /** The credential helper for `gitSettings`. */
  get credentialHelper(): string {
    return helperCommand(this.program);
  }

  /** Switches the identity. If it has a token, git asks us for it. Can be undone. */
  async switch(name: string, folder: string, request: SwitchRequest = {}): Promise<AppliedChange> {
    await this.#writeSigners(name);
    return await this.identities.apply(folder, () => this.planSwitch(name, folder, request));
  }

  /** The changes that `switch` would make. */
  async planSwitch(name: string, folder: string, request: SwitchRequest = {}): Promise<ChangePlan> {
    return await this.identities.planSwitch(name, folder, await this.#complete(name, request));
  }

  async #writeSigners(name: string): Promise<void> {
    if (this.identities.find(name).signing?.format !== "ssh") return;
    await writeAllowedSigners(this.#signersFile, this.identities.list, quietRunner(this));
  }

  get #signersFile(): string {
    return join(this.#options.data, "identity", "allowed_signers");
  }

  async #complete(name: string, plain: SwitchRequest): Promise<SwitchRequest> {
    const request = { ...plain, signersFile: this.#signersFile };
    // A credential helper in ~/.gitconfig would answer for one identity in all repositories.
    return plain.global === true ? request : await this.#withHelper(name, request);
  }

  /** Without a token, git keeps its own credential helpers until one is stored. */
  async #withHelper(name: string, request: SwitchRequest): Promise<SwitchRequest> {
    const identity = this.identities.find(name);
    if (identity.tokenSource.kind === "none") return request;
    return (await this.#hasToken(identity))
      ? { ...request, credentialHelper: this.credentialHelper }
      : { ...request, helperFile: helperFile(this.#options.data, name) };
  }

  async #hasToken(identity: Identity): Promise<boolean> {
    if (identity.settings.tokenSource !== undefined) return true;
    return (await this.tokens.record(identity)).storedAt !== undefined;
  }

  /**
   * Makes environments in which git uses an identity. Git asks only us for tokens, so that a process cannot
   * get another identity's token. Variables override all files, so the person's own list of signers, if
   * there is one for our folder, is not replaced.
   */
  async environments(
    name: string,
    rule?: AgentCommitRule,
    trailers: readonly string[] = [],
  ): Promise<(base: NodeJS.ProcessEnv) => NodeJS.ProcessEnv> {
    const { identity, author, committer } = personaOf(this.identities.find(name), rule, this.env);
    const { data } = this.#options;
    const hooks = trailers.length > 0 ? { hooks: await writeTrailerHooks(data, trailers) } : {};
    const keys = await this.#environmentOptions(identity);
    return (base) => withIdentity(identity, base, { ...keys, ...hooks, author, committer });
  }

  /** The rule for who an agent is in a folder's repository. */
  async agentRule(agent: string, folder: string): Promise<AgentCommitRule | undefined> {
    if ((this.#options.agentCommits ?? []).length === 0) return undefined;
    return this.agentRuleAt(agent, placeOf(await readGitContext(this.git(folder))));
  }

  agentRuleAt(agent: string, place: DetectionPlace): AgentCommitRule | undefined {
    return ruleFor(this.#options.agentCommits ?? [], agent, place, this.env);
  }

  /** The same, as a list of changes. */
  async environmentPlan(name: string, base: NodeJS.ProcessEnv): Promise<EnvironmentPlan> {
    const identity = this.identities.find(name);
    return environmentPlan(identity, { ...(await this.#environmentOptions(identity)), base });
  }

  async #environmentOptions(identity: Identity): Promise<GitSettingsOptions> {
    const { credentialHelper } = this;
    const signersFile = await this.#signersFor(identity);
    return { credentialHelper, ...(signersFile === undefined ? {} : { signersFile }) };
  }

  async #signersFor(identity: Identity): Promise<string | undefined> {
    if (identity.signing?.format !== "ssh") return undefined;
    const file = this.#signersFile;
    const ask = ["config", "--get", SIGNERS_KEY];
    const set = await this.git(this.folder).text(ask, { accepts: [0, 1] });
    if (set !== "" && set !== file) return undefined;
    await this.#writeSigners(identity.name);
    return file;
  }

  /**
   * The token of an identity as the programs of its forge read it; nothing if it has none that can
   * be used. A secret: only for the environment of a process.
   */
  async forgeVariables(name: string): Promise<ForgeVariables> {
    const identity = this.identities.find(name);
    if (identity.tokenSource.kind === "none" || !(await this.#hasToken(identity))) return {};
    const found = await this.tokens.find(identity);
    if (found === undefined || isExpired(found.record)) return {};
    return forgeVariables(identity, found.token);
  }

  /** The environment of a command that runs as an identity, with its token and no other's. */
  async processEnvironment(name: string, base: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
    const environment = await this.environments(name);
    return replaceForgeVariables(environment(base), await this.forgeVariables(name));
  }

  git(folder: string): Git {
    return new Git(resolve(this.#options.cwd, folder), { env: this.#options.env });
  }

  /** Answers git's credential request. A failure is a refusal. */
  async credential(operation: string, text: string): Promise<CredentialVerdict> {
    const started = performance.now();
    const question = parseCredential(text);
    const { host, path, protocol } = question;
    const asked = { operation, url: `${protocol}://${host}/${path ?? ""}` };
    let verdict: CredentialVerdict;
    try {
      const context = await readGitContext(this.git("."));
      const { tokens, env } = this;
      const { agentCommits: rules } = this.#options;
      const options = { identities: this.identities.list, tokens, context, env, rules };
      if (operation === "store" || operation === "erase") {
        // Nothing is stored for git.
        const isRejected = operation === "erase";
        const identity = isRejected ? await rejectedIdentity(question, options) : undefined;
        verdict = { text: "", identity, refused: undefined };
      } else verdict = await answerCredential(question, options);
    } catch (error) {
      verdict = { text: QUIT, identity: undefined, refused: (error as Error).message };
    }
    if (operation !== "store") {
      this.record("credential", asked, started, verdict.identity, verdict.refused);
    }
    return verdict;
  }

  /**
   * Decides on a commit or a push. If it is allowed in spite of problems, the audit records that.
   */
  async judge(question: GuardQuestion): Promise<GuardOutcome> {
    const started = performance.now();
    const { env } = this;
    const context = await readRepositoryContext(this.git("."));
    const { agentCommits } = this.#options;
    const verdict = await judge(question, {
      ...{ identities: this.identities.list, context, env, rules: agentCommits },
      // So that no advice is given that would change nothing.
      isSwitched: async (name) => (await this.planSwitch(name, ".")).files.length === 0,
    });
    const { worktree = context.repository.gitDir } = context.repository;
    const isRight = verdict.problems.length === 0;
    const override = isRight ? undefined : await this.#override(worktree);
    const { hook, remote } = question;
    const { identity, acting, problems } = verdict;
    const why = problems.map(({ says }) => says).join(" ");
    const asked = { hook, worktree, identity, acting, remote, override };
    if (hook !== "pre-push" && (await this.modes.get()) === "maximum_security") {
      await forgetPassphrases(env);
    }
    const refusal = isRight || override !== undefined ? undefined : why;
    this.record(
      "guard",
      override === undefined ? asked : { ...asked, problems },
      started,
      acting,
      refusal,
    );
    return { ...verdict, isAllowed: isRight || override !== undefined, override };
  }

  async installGuard(folder: string): Promise<GuardStatus> {
    return await installGuard(await readRepositoryContext(this.git(folder)), this.program);
  }

  async removeGuard(folder: string): Promise<boolean> {
    return await removeGuard(await readRepositoryContext(this.git(folder)));
  }

  async guardStatus(folder: string): Promise<GuardStatus> {
    return await guardStatus(await readRepositoryContext(this.git(folder)));
  }

  /** Lets the next commit or push of a work tree through. */
  async givePass(folder: string, reason: string | undefined): Promise<GuardPass> {
    const { repository } = await readRepositoryContext(this.git(folder));
    const started = performance.now();
    const pass = await this.passes.give(repository.worktree ?? repository.gitDir, reason);
    this.record("guard.allow", pass, started, "terminal");
    return pass;
  }

  /** Validates identities in parallel. */
  async validate(
    names: readonly string[],
    options: Omit<ValidateOptions, "tokens" | "env">,
  ): Promise<Validation[]> {
    const { tokens, env } = this;
    const all = names.map((name) => this.identities.find(name));
    return await Promise.all(
      all.map((identity) => validateIdentity(identity, { ...options, tokens, env })),
    );
  }

  /** What an identity has on this machine, and what is missing. */
  async readiness(name: string): Promise<Readiness> {
    const { tokens, env } = this;
    return await identityReadiness(this.identities.find(name), { tokens, env });
  }

  /** Whether an identity, or the one here, can sign. */
  async signing(name: string | undefined, folder = "."): Promise<SigningReadiness> {
    const identity = this.identities.find(name ?? (await this.nameHere(folder)));
    return await signingReadiness(identity, { env: this.env });
  }

  /** The active identity in a folder, else the detected one. Throws if there is neither. */
  async nameHere(folder: string): Promise<string> {
    const { current, switched, detected } = await this.identities.status(folder);
    const name = switched?.identity ?? current ?? detected.identity;
    if (name !== undefined) return name;
    throw new TrunklineError("not-found", `No identity is active here. ${detected.explanation}`);
  }

  async #override(worktree: string): Promise<string | undefined> {
    if (this.env.TRUNKLINE_GUARD === "skip") return "TRUNKLINE_GUARD=skip";
    const pass = await this.passes.take(worktree);
    if (pass === undefined) return undefined;
    return `a pass${pass.reason === undefined ? "" : ` (${pass.reason})`}`;
  }

  /** Writes to the audit what did not go through a toolbox. */
  record(
    what: string,
    args: object,
    started: number,
    caller: string | undefined,
    refused?: string,
  ): void {
    this.#audit ??= new AuditLog(this.#options.data);
    this.#audit.record({
      time: new Date().toISOString(),
      door: "git",
      caller: caller ?? "unknown",
      project: this.#options.cwd,
      tool: `identity.${what}`,
      arguments: mask(args),
      outcome: refused === undefined ? "ok" : "refused",
      reason: refused === undefined ? undefined : maskText(refused),
      milliseconds: Math.round((performance.now() - started) * 1000) / 1000,
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#audit?.[Symbol.dispose]();
  }
}
