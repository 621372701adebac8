import { dirname, join, resolve } from "node:path";

import { describeProblem, type Problem } from "../base/check.ts";
import { TrunklineError } from "../base/errors.ts";
import { Git } from "../git/git.ts";
import {
  type Applied,
  applyPlan,
  type Plan,
  recoverIfNeeded,
  type Recovery,
} from "./switch/apply.ts";
import {
  detectIdentity,
  type Detection,
  identityStatus,
  type IdentityStatus,
  readGitContext,
  readRepositoryContext,
  rightIdentity,
} from "./detect/detect.ts";
import {
  findIdentity,
  type Identity,
  type IdentitySettings,
  resolveIdentities,
} from "./identity.ts";
import {
  exportJuggler,
  importJuggler,
  type JugglerImport,
  type JugglerValues,
} from "./juggler/import-juggler.ts";
import { Journal, type JournalState } from "./switch/journal.ts";
import { planSwitch, type SwitchOptions } from "./switch/switch-plan.ts";
import { planSync } from "./switch/sync-plan.ts";
import { planUndo, type UndoOptions } from "./switch/undo.ts";

/** A value to set in the configuration file; undefined removes it. */
export interface SettingsEdit {
  readonly path: readonly string[];
  readonly value: unknown;
}

/** The user's configuration file, in which identities are kept. */
export interface IdentitiesFile {
  readonly path: string;
  /**
   * It was named with `--config` or `TRUNKLINE_CONFIG`, so programs that we start must get that
   * too.
   */
  readonly isNamed: boolean;
  /** Writes all edits or none. Comments and layout stay. */
  edit(edits: readonly SettingsEdit[]): Promise<void>;
  /** Checks settings before they are written; returns the first problem. */
  check(settings: IdentitySettings): Promise<Problem | undefined>;
}

export interface IdentitiesOptions {
  /** The identities as they are configured, by name. */
  readonly settings: Readonly<Record<string, IdentitySettings>>;
  /** The rest of RemoteJuggler's configuration, besides identities. An export writes it again. */
  readonly juggler?: JugglerValues | undefined;
  readonly file: IdentitiesFile;
  /** The data folder, with the journal of switches. */
  readonly data: string;
  readonly env: NodeJS.ProcessEnv;
  readonly cwd: string;
}

export type SwitchRequest = Omit<SwitchOptions, "env" | "identities">;

/** The configured identities, and the operations on them. */
export class Identities {
  readonly list: readonly Identity[];
  /** The user's file, in which they are kept. */
  readonly file: string;
  readonly #options: IdentitiesOptions;
  readonly #journal: Journal;

  constructor(options: IdentitiesOptions) {
    const { settings, file, data, env } = options;
    this.#options = options;
    this.list = resolveIdentities(settings, env);
    this.file = file.path;
    this.#journal = new Journal(data);
  }

  find(name: string): Identity {
    return findIdentity(this.list, name);
  }

  /** Completes or rolls back an interrupted change. Call it before anything else; it is cheap. */
  async recover(): Promise<Recovery | undefined> {
    return await recoverIfNeeded(this.#journal);
  }

  async detect(folder: string): Promise<Detection> {
    return await detectIdentity(this.list, await readGitContext(this.#git(folder)));
  }

  /** The name of the identity that a folder needs, if that can be decided. */
  async right(folder: string): Promise<string | undefined> {
    const context = await readGitContext(this.#git(folder));
    return (await rightIdentity(this.list, context, this.#options.env)).identity?.name;
  }

  async status(folder: string): Promise<IdentityStatus> {
    return await identityStatus(
      this.list,
      await readGitContext(this.#git(folder)),
      this.#options.env,
    );
  }

  async planSwitch(name: string, folder: string, request: SwitchRequest = {}): Promise<Plan> {
    const identity = this.find(name);
    const git = this.#git(folder);
    const context = request.global ? await readGitContext(git) : await readRepositoryContext(git);
    const { env } = this.#options;
    return await planSwitch(identity, context, { ...request, env, identities: this.list });
  }

  /**
   * Undoes the last change in a folder's work tree; without a folder, the last change of the user's
   * own files.
   */
  async planUndo(
    folder: string | undefined,
    options: Omit<UndoOptions, "worktree">,
  ): Promise<Plan> {
    if (folder === undefined || options.id !== undefined) {
      return await planUndo(this.#journal, options);
    }
    const { repository } = await readRepositoryContext(this.#git(folder));
    const { worktree = repository.commonDir } = repository;
    return await planUndo(this.#journal, { ...options, worktree });
  }

  /** Writes the managed blocks in the person's own configuration of ssh and git, or removes them. */
  async planSync(options: { readonly remove?: boolean } = {}): Promise<Plan> {
    const { env } = this.#options;
    const folder = join(dirname(this.file), "identities");
    return await planSync(this.list, this.#git("/"), { ...options, env, folder });
  }

  /** Makes a plan and carries it out. The plan is made once no other change is running. */
  async apply(folder: string, makePlan: () => Promise<Plan>): Promise<Applied> {
    return await applyPlan(this.#journal, this.#git(folder), makePlan);
  }

  /** The changes in the journal, oldest first. */
  async history(): Promise<JournalState[]> {
    return await this.#journal.entries();
  }

  /** Writes an identity to the user's file. Throws "usage" where a new one has the name of another. */
  async save(name: string, settings: IdentitySettings, isNew: boolean): Promise<void> {
    checkName(name);
    if (isNew && this.list.some((identity) => identity.name === name)) {
      const next = `Change it with \`trunkline identity edit ${name}\``;
      throw new TrunklineError("usage", `There is already an identity '${name}'. ${next}`);
    }
    if (!isNew) this.find(name);
    await this.#check(name, settings);
    await this.#options.file.edit([{ path: ["identities", name], value: settings }]);
  }

  async remove(name: string): Promise<void> {
    this.find(name);
    await this.#options.file.edit([{ path: ["identities", name], value: undefined }]);
  }

  /** Reads RemoteJuggler's configuration; `importAll` takes it over. */
  readJuggler(text: string, file: string): JugglerImport {
    return importJuggler(text, file);
  }

  async importAll({ identities, rest }: JugglerImport): Promise<void> {
    for (const name of Object.keys(identities)) checkName(name);
    const edits: SettingsEdit[] = Object.entries(identities).map(([name, value]) => {
      return { path: ["identities", name], value };
    });
    if (Object.keys(rest).length > 0) edits.push({ path: ["x-juggler"], value: rest });
    await this.#options.file.edit(edits);
  }

  exportJuggler(): JugglerValues {
    const { settings, juggler } = this.#options;
    return exportJuggler(settings, juggler);
  }

  /** The error is about the given values, not about the file, which does not have them yet. */
  async #check(name: string, settings: IdentitySettings): Promise<void> {
    const problem = await this.#options.file.check(settings);
    if (problem === undefined) return;
    const says = describeProblem("", problem);
    throw new TrunklineError("usage", `Cannot save identity '${name}': ${says}`);
  }

  #git(folder: string): Git {
    const { cwd, env } = this.#options;
    return new Git(resolve(cwd, folder), { env });
  }
}

/** Names go on command lines and into files. */
function checkName(name: string): void {
  if (/^[\p{L}\p{N}][\p{L}\p{N}_.@+ /-]{0,63}$/u.test(name)) return;
  const why =
    "a name begins with a letter or digit and has at most 64 letters, digits, spaces and . _ @ + / -";
  throw new TrunklineError("usage", `Cannot name an identity '${name}': ${why}`);
}
