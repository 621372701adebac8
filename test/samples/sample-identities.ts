import { join } from "node:path";

import { SampleRepository } from "./sample-repository.ts";
import { type AppliedChange, applyPlan, type ChangePlan } from "../../src/identity/switch/apply.ts";
import {
  detectIdentity,
  type Detection,
  readGitContext,
} from "../../src/identity/detect/detect.ts";
import {
  findIdentity,
  type Identity,
  type IdentitySettings,
  resolveIdentities,
} from "../../src/identity/identity.ts";
import { Journal } from "../../src/identity/switch/journal.ts";
import { planSwitch, type SwitchOptions } from "../../src/identity/switch/switch-plan.ts";
import { planUndo, type UndoOptions } from "../../src/identity/identities.ts";

export const WORK: IdentitySettings = {
  provider: "github",
  sshHost: "gh-work",
  user: "ada-acme",
  email: "ada@acme.example",
  displayName: "Ada Lovelace",
  sshKey: "~/.ssh/id_work",
  organizations: ["acme", "group/sub"],
};

export const HOME: IdentitySettings = {
  provider: "github",
  sshHost: "gh-home",
  user: "ada",
  email: "ada@home.example",
  sshKey: '~/.ssh/it\'s "mine" %h',
  signing: { format: "openpgp", key: "ABCDEF0123456789" },
};

/** A repository, and identities to use in it. */
export class SampleIdentities extends SampleRepository {
  readonly journal = new Journal(join(this.home, "data"));
  readonly identities: readonly Identity[];

  constructor(settings: Readonly<Record<string, IdentitySettings>> = { work: WORK, home: HOME }) {
    super();
    this.identities = resolveIdentities(settings, this.env);
  }

  find(name: string): Identity {
    return findIdentity(this.identities, name);
  }

  async detect(folder: string = this.path): Promise<Detection> {
    return await detectIdentity(this.identities, await readGitContext(this.gitIn(folder)));
  }

  async plan(
    name: string,
    options: Partial<SwitchOptions> = {},
    folder: string = this.path,
  ): Promise<ChangePlan> {
    const context = await readGitContext(this.gitIn(folder));
    const { env, identities } = this;
    return await planSwitch(this.find(name), context, { env, identities, ...options });
  }

  async switch(
    name: string,
    options: Partial<SwitchOptions> = {},
    folder: string = this.path,
  ): Promise<AppliedChange> {
    const git = this.gitIn(folder);
    return await applyPlan(this.journal, git, () => this.plan(name, options, folder));
  }

  async undo(options: UndoOptions = { worktree: this.path }): Promise<AppliedChange> {
    return await applyPlan(this.journal, this.git, () => planUndo(this.journal, this.git, options));
  }

  /** A value as git has it in a folder. */
  config(key: string, folder: string = this.path): string {
    return this.runIn(folder, "config", "--default", "", "--get", key);
  }
}
