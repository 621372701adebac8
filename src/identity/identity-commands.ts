import { dirname, resolve } from "node:path";

import { TrunklineError } from "../base/errors.ts";
import { mask, maskText } from "../base/text/mask.ts";
import { Git } from "../git/git.ts";
import type { CredentialVerdict } from "./credential/credential-helper.ts";
import type { OwnProgram } from "./credential/helper-command.ts";
import { helperCommand } from "./credential/helper-command.ts";
import { type GuardPass, GuardPasses } from "./guard/guard-pass.ts";
import type { GuardStatus } from "./guard/install-guard.ts";
import type { GuardQuestion, GuardVerdict } from "./guard/verdict.ts";
import type { Applied } from "./switch/apply.ts";
import { type EnvironmentPlan, environmentPlan, withIdentity } from "./environment.ts";
import type { Identity } from "./identity.ts";
import { SecurityModes } from "./tools/security-mode.ts";
import { readGitContext, readRepositoryContext } from "./detect/git-context.ts";
import type { SigningReadiness } from "./signing/signing-readiness.ts";
import { TokenCommands } from "./tokens/token-commands.ts";
import { Tokens } from "./tokens/tokens.ts";
import type { ValidateOptions, Validation } from "./validate/validate.ts";
import { AuditLog } from "../store/audit/audit-log.ts";
import { timestamp } from "../tool/timestamp.ts";
import { Identities, type IdentitiesOptions, type SwitchRequest } from "./identities.ts";

export interface IdentityCommandsOptions extends IdentitiesOptions {
  /** Asks a person for the passphrase of the token file, where one is there. */
  readonly ask?: ((question: string) => Promise<string>) | undefined;
}

/** How a commit or a push came out. */
export interface GuardOutcome extends GuardVerdict {
  readonly isAllowed: boolean;
  /** By what it may be made though something is wrong with it. */
  readonly override: string | undefined;
}

/** Identities with their tokens, their guard and the record of both. */
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
    const configFolder = dirname(this.identities.file);
    this.tokens = new Tokens({ data, configFolder, env, ask });
    this.tokenCommands = new TokenCommands(this.tokens, env);
    this.passes = new GuardPasses(data);
    this.modes = new SecurityModes(data);
  }

  get folder(): string {
    return this.#options.cwd;
  }

  get env(): NodeJS.ProcessEnv {
    return this.#options.env;
  }

  /** How git and hooks call us. What was named for this run is named for theirs. */
  get program(): OwnProgram {
    const { data, file } = this.#options;
    return {
      command: [process.execPath, resolve(process.argv[1] ?? "trunkline")],
      ...(file.isNamed ? { config: file.path } : {}),
      data,
    };
  }

  /** For `gitSettings`: who git is to ask for passwords. */
  get credentialHelper(): string {
    return helperCommand(this.program);
  }

  /** Switches, and has git ask us for tokens where the identity has one. Can be undone. */
  async switch(name: string, folder: string, request: SwitchRequest = {}): Promise<Applied> {
    return await this.identities.switch(name, folder, await this.withHelper(name, request));
  }

  /** Where an identity has no token, whoever git asked before is left to it. */
  async withHelper(name: string, request: SwitchRequest = {}): Promise<SwitchRequest> {
    const identity = this.identities.find(name);
    const isWanted = identity.tokenSource.kind !== "none" && (await this.#hasToken(identity));
    return isWanted ? { ...request, credentialHelper: this.credentialHelper } : request;
  }

  async #hasToken(identity: Identity): Promise<boolean> {
    if (identity.settings.tokenSource !== undefined) return true;
    const { storedAt } = await this.tokens.record(identity);
    return storedAt !== undefined;
  }

  /**
   * An environment in which git acts as an identity. It asks us for tokens and nobody else: what a
   * process does as one identity must not get another's.
   */
  environment(name: string, base: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
    const { credentialHelper } = this;
    return withIdentity(this.identities.find(name), base, { credentialHelper });
  }

  /** The same as a list of what changes. */
  environmentPlan(name: string, base: NodeJS.ProcessEnv): EnvironmentPlan {
    const { credentialHelper } = this;
    return environmentPlan(this.identities.find(name), { base, credentialHelper });
  }

  git(folder: string): Git {
    const { cwd, env } = this.#options;
    return new Git(resolve(cwd, folder), { env });
  }

  /** Answers git's question for a credential. What goes wrong is a refusal. */
  async credential(operation: string, text: string): Promise<CredentialVerdict> {
    const { answerCredential, recordCredentialUse } =
      await import("./credential/credential-helper.ts");
    const { parseCredential, QUIT } = await import("./credential/credential-text.ts");
    const started = performance.now();
    const question = parseCredential(text);
    const { host, path, protocol } = question;
    const asked = { operation, url: `${protocol}://${host}/${path ?? ""}` };
    let verdict: CredentialVerdict;
    try {
      const context = await readGitContext(this.git("."));
      const { tokens, env } = this;
      const options = { identities: this.identities.list, tokens, context, env };
      if (operation === "store" || operation === "erase") {
        const identity = await recordCredentialUse(operation, question, options);
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

  /** Judges a commit or a push. Unless it is right, one that is let through is on record as such. */
  async judge(question: GuardQuestion): Promise<GuardOutcome> {
    const { judge } = await import("./guard/guard.ts");
    const started = performance.now();
    const { env } = this;
    const context = await readRepositoryContext(this.git("."));
    const verdict = await judge(question, { identities: this.identities.list, context, env });
    const { worktree = context.repository.gitDir } = context.repository;
    const isRight = verdict.problems.length === 0;
    const override = isRight ? undefined : await this.#override(worktree);
    const { hook, remote } = question;
    const { identity, acting, problems } = verdict;
    const why = problems.map(({ says }) => says).join(" ");
    const asked = { hook, worktree, identity, acting, remote, override };
    if (hook !== "pre-push" && (await this.modes.get()) === "maximum_security") {
      const { forgetPassphrases } = await import("./signing/signing-readiness.ts");
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
    const { installGuard } = await import("./guard/install-guard.ts");
    return await installGuard(await readRepositoryContext(this.git(folder)), this.program);
  }

  async removeGuard(folder: string): Promise<boolean> {
    const { removeGuard } = await import("./guard/install-guard.ts");
    return await removeGuard(await readRepositoryContext(this.git(folder)));
  }

  async guardStatus(folder: string): Promise<GuardStatus> {
    const { guardStatus } = await import("./guard/install-guard.ts");
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

  /** Whether identities work, all at the same time. */
  async validate(
    names: readonly string[],
    options: Omit<ValidateOptions, "tokens" | "env">,
  ): Promise<Validation[]> {
    const { validateIdentity } = await import("./validate/validate.ts");
    const { tokens, env } = this;
    const all = names.map((name) => this.identities.find(name));
    return await Promise.all(
      all.map((identity) => validateIdentity(identity, { ...options, tokens, env })),
    );
  }

  /** Whether an identity, or the one here, can sign. */
  async signing(name: string | undefined, folder = "."): Promise<SigningReadiness> {
    const { signingReadiness } = await import("./signing/signing-readiness.ts");
    const identity = this.identities.find(name ?? (await this.nameHere(folder)));
    return await signingReadiness(identity, { env: this.env });
  }

  /** The identity in force in a folder, else the one that it is for. Throws where there is none. */
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

  /** Puts something on record that no toolbox has seen. */
  record(
    what: string,
    args: object,
    started: number,
    caller: string | undefined,
    refused?: string,
  ): void {
    this.#audit ??= new AuditLog(this.#options.data);
    this.#audit.record({
      time: timestamp(),
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
