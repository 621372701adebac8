import { rm } from "node:fs/promises";
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
import { helperCommand, helperFile, writeHelperFile } from "./credential/helper-command.ts";
import { GuardPasses } from "./guard/guard-pass.ts";
import {
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
  type GitSettingsOptions,
  SIGNERS_KEY,
  withHooks,
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
import { quietRunner, forgetPassphrases, signingReadiness } from "./signing/signing-readiness.ts";
import { tokenCommandsFor } from "./tokens/token-commands.ts";
import {
  forgeVariables,
  type ForgeVariables,
  isExpired,
  replaceForgeVariables,
  openTokens,
} from "./tokens/tokens.ts";
import { type ValidateOptions, validateIdentity, identityReadiness } from "./validate/validate.ts";
import { AuditLog } from "../store/audit/audit-log.ts";
import { identitiesFrom, type IdentitiesOptions, type SwitchRequest } from "./identities.ts";

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

export type IdentityCommands = ReturnType<typeof openIdentityCommands>;

/** Identities with their tokens and guard. Both write to the audit. */
export function openIdentityCommands(options: IdentityCommandsOptions) {
  const { data, cwd, env, ask, file, agentCommits: rules = [] } = options;
  const identities = identitiesFrom(options);
  const tokens = openTokens({ data, configFolder: dirname(identities.file), env, ask });
  /** How git and hooks start us, with the same configuration and data folder as this run. */
  const config = file.isNamed ? { config: file.path } : {};
  const program = { command: selfCommand(), ...config, data };
  const credentialHelper = helperCommand(program);
  const tokenCommands = tokenCommandsFor(tokens, env, {
    saved: ({ name }) =>
      writeHelperFile(new Git("/", { env }), helperFile(data, name), credentialHelper),
    cleared: ({ name }) => rm(helperFile(data, name), { force: true }),
  });
  const passes = new GuardPasses(data);
  const modes = new SecurityModes(data);
  const signersFile = join(data, "identity", "allowed_signers");
  let audit: AuditLog | undefined;

  const git = (folder: string): Git => new Git(resolve(cwd, folder), { env });
  const repositoryAt = (folder: string) => readRepositoryContext(git(folder));

  const writeSigners = async ({ signing }: Identity): Promise<void> => {
    if (signing?.format !== "ssh") return;
    await writeAllowedSigners(signersFile, identities.list, quietRunner({ env }));
  };

  const hasToken = async (identity: Identity): Promise<boolean> => {
    if (identity.settings.tokenSource !== undefined) return true;
    return (await tokens.record(identity)).storedAt !== undefined;
  };

  /** The changes that `switch` would make. */
  const planSwitch = async (
    name: string,
    folder: string,
    request: SwitchRequest = {},
  ): Promise<ChangePlan> => {
    const identity = identities.find(name);
    // A credential helper in ~/.gitconfig would answer for one identity in all repositories.
    const isAsked = request.global !== true && identity.tokenSource.kind !== "none";
    // Without a token, git keeps its own credential helpers until one is stored.
    const has = isAsked && (await hasToken(identity));
    const helper = has ? { credentialHelper } : { helperFile: helperFile(data, name) };
    const whole = { ...request, signersFile, ...(isAsked ? helper : {}) };
    return await identities.planSwitch(name, folder, whole);
  };

  const environmentOptions = async (identity: Identity): Promise<GitSettingsOptions> => {
    if (identity.signing?.format !== "ssh") return { credentialHelper };
    const set = await git(cwd).text(["config", "--get", SIGNERS_KEY], { accepts: [0, 1] });
    if (set !== "" && set !== signersFile) return { credentialHelper };
    await writeSigners(identity);
    return { credentialHelper, signersFile };
  };

  /**
   * Makes environments in which git uses an identity. Git asks only us for tokens, so that a process cannot
   * get another identity's token. Variables override all files, so the person's own list of signers, if
   * there is one for our folder, is not replaced.
   */
  const environments = async (
    name: string | undefined,
    rule?: AgentCommitRule,
    trailers: readonly string[] = [],
  ): Promise<(base: NodeJS.ProcessEnv) => NodeJS.ProcessEnv> => {
    const hooks = trailers.length > 0 ? { hooks: await writeTrailerHooks(data, trailers) } : {};
    if (name === undefined) return (base) => withHooks(hooks.hooks, base);
    const { identity, author, committer } = personaOf(identities.find(name), rule, env);
    const keys = await environmentOptions(identity);
    return (base) => withIdentity(identity, base, { ...keys, ...hooks, author, committer });
  };

  const agentRuleAt = (agent: string, place: DetectionPlace): AgentCommitRule | undefined =>
    ruleFor(rules, agent, place, env);

  /**
   * The token of an identity as the programs of its forge read it; nothing if it has none that can
   * be used. A secret: only for the environment of a process.
   */
  const variablesOf = async (name: string): Promise<ForgeVariables> => {
    const identity = identities.find(name);
    if (identity.tokenSource.kind === "none" || !(await hasToken(identity))) return {};
    const found = await tokens.find(identity);
    if (found === undefined || isExpired(found.record)) return {};
    return forgeVariables(identity, found.token);
  };

  /** Writes to the audit what did not go through a toolbox. */
  const record = (
    what: string,
    args: object,
    started: number,
    caller = "unknown",
    refused?: string,
  ): void => {
    audit ??= new AuditLog(data);
    audit.record({
      time: new Date().toISOString(),
      ...{ door: "git", caller, project: cwd, tool: `identity.${what}`, arguments: mask(args) },
      outcome: refused === undefined ? "ok" : "refused",
      reason: refused === undefined ? undefined : maskText(refused),
      milliseconds: Math.round((performance.now() - started) * 1000) / 1000,
    });
  };

  /** Why a commit or a push is allowed in spite of problems. */
  const overrideIn = async (worktree: string): Promise<string | undefined> => {
    if (env.TRUNKLINE_GUARD === "skip") return "TRUNKLINE_GUARD=skip";
    const pass = await passes.take(worktree);
    if (pass === undefined) return undefined;
    return `a pass${pass.reason === undefined ? "" : ` (${pass.reason})`}`;
  };

  /** The active identity in a folder, else the detected one. Throws if there is neither. */
  const nameHere = async (folder: string): Promise<string> => {
    const { current, switched, detected } = await identities.status(folder);
    const name = switched?.identity ?? current ?? detected.identity;
    if (name !== undefined) return name;
    throw new TrunklineError("not-found", `No identity is active here. ${detected.explanation}`);
  };

  return {
    ...{ identities, tokens, tokenCommands, passes, modes, folder: cwd, env, program },
    ...{ credentialHelper, git, planSwitch, environments, agentRuleAt, record, nameHere },
    forgeVariables: variablesOf,

    /** Switches the identity. If it has a token, git asks us for it. Can be undone. */
    async switch(
      name: string,
      folder: string,
      request: SwitchRequest = {},
    ): Promise<AppliedChange> {
      await writeSigners(identities.find(name));
      return await identities.apply(folder, () => planSwitch(name, folder, request));
    },

    /** The rule for who an agent is in a folder's repository. */
    async agentRule(agent: string, folder: string): Promise<AgentCommitRule | undefined> {
      if (rules.length === 0) return undefined;
      return agentRuleAt(agent, placeOf(await readGitContext(git(folder))));
    },

    /** The same as `environments`, as a list of changes. */
    async environmentPlan(name: string, base: NodeJS.ProcessEnv) {
      const identity = identities.find(name);
      return environmentPlan(identity, { ...(await environmentOptions(identity)), base });
    },

    /** The environment of a command that runs as an identity, with its token and no other's. */
    async processEnvironment(name: string, base: NodeJS.ProcessEnv): Promise<NodeJS.ProcessEnv> {
      const environment = await environments(name);
      return replaceForgeVariables(environment(base), await variablesOf(name));
    },

    /** Answers git's credential request. A failure is a refusal. */
    async credential(operation: string, text: string): Promise<CredentialVerdict> {
      const started = performance.now();
      const question = parseCredential(text);
      const { host, path, protocol } = question;
      const asked = { operation, url: `${protocol}://${host}/${path ?? ""}` };
      let verdict: CredentialVerdict;
      try {
        const context = await readGitContext(git("."));
        const known = { identities: identities.list, tokens, context, env, rules };
        if (operation === "store" || operation === "erase") {
          // Nothing is stored for git.
          const isRejected = operation === "erase";
          const identity = isRejected ? await rejectedIdentity(question, known) : undefined;
          verdict = { text: "", identity, refused: undefined };
        } else verdict = await answerCredential(question, known);
      } catch (error) {
        verdict = { text: QUIT, identity: undefined, refused: (error as Error).message };
      }
      const { identity, refused } = verdict;
      if (operation !== "store") record("credential", asked, started, identity, refused);
      return verdict;
    },

    /** Decides on a commit or a push. If it is allowed in spite of problems, the audit records that. */
    async judge(question: GuardQuestion): Promise<GuardOutcome> {
      const started = performance.now();
      const context = await repositoryAt(".");
      const verdict = await judge(question, {
        ...{ identities: identities.list, context, env, rules },
        // So that no advice is given that would change nothing.
        isSwitched: async (name) => (await planSwitch(name, ".")).files.length === 0,
      });
      const { worktree = context.repository.gitDir } = context.repository;
      const { identity, acting, problems } = verdict;
      const isRight = problems.length === 0;
      const override = isRight ? undefined : await overrideIn(worktree);
      const isAllowed = isRight || override !== undefined;
      const { hook, remote } = question;
      const asked = { hook, worktree, identity, acting, remote, override };
      if (hook !== "pre-push" && (await modes.get()) === "maximum_security") {
        await forgetPassphrases(env);
      }
      const args = override === undefined ? asked : { ...asked, problems };
      const refusal = isAllowed ? undefined : problems.map(({ says }) => says).join(" ");
      record("guard", args, started, acting, refusal);
      return { ...verdict, isAllowed, override };
    },

    installGuard: async (folder: string) => await installGuard(await repositoryAt(folder), program),
    removeGuard: async (folder: string) => await removeGuard(await repositoryAt(folder)),
    guardStatus: async (folder: string) => await guardStatus(await repositoryAt(folder)),

    /** Lets the next commit or push of a work tree through. */
    async givePass(folder: string, reason: string | undefined) {
      const { repository } = await repositoryAt(folder);
      const started = performance.now();
      const pass = await passes.give(repository.worktree ?? repository.gitDir, reason);
      record("guard.allow", pass, started, "terminal");
      return pass;
    },

    /** Validates identities in parallel. */
    async validate(names: readonly string[], how: Omit<ValidateOptions, "tokens" | "env">) {
      const all = names.map((name) => identities.find(name));
      return await Promise.all(
        all.map((identity) => validateIdentity(identity, { ...how, tokens, env })),
      );
    },

    /** What an identity has on this machine, and what is missing. */
    readiness: async (name: string) =>
      await identityReadiness(identities.find(name), { tokens, env }),

    /** Whether an identity, or the one here, can sign. */
    signing: async (name: string | undefined, folder = ".") =>
      await signingReadiness(identities.find(name ?? (await nameHere(folder))), { env }),

    async [Symbol.asyncDispose](): Promise<void> {
      audit?.[Symbol.dispose]();
    },
  };
}
