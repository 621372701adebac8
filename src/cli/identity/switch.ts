import { basename, resolve } from "node:path";

import type { IdentityCommands } from "../../identity/identity-commands.ts";
import type { AppliedChange, ChangePlan } from "../../identity/switch/apply.ts";
import type { Invocation, OptionValues } from "../shell/command.ts";
import { openCommands, openIdentities, runCommand } from "./identity.ts";
import { linesText, print } from "../shell/layout.ts";

const NO_CHANGE = "Nothing to change.";

type DryRunValues = OptionValues<never, "dry-run">;

type SwitchValues = DryRunValues & OptionValues<"repo", "global" | "rewrite-remotes">;

type UndoValues = DryRunValues & OptionValues<"id" | "repo", "global" | "force">;

/** `trunkline identity switch NAME` */
export async function switchTo(invocation: Invocation<SwitchValues>): Promise<number> {
  const { values, positionals } = invocation;
  const [name = ""] = positionals;
  await using commands = await openCommands(invocation);
  const folder = values.repo ?? ".";
  const request = {
    global: values.global === true,
    rewriteRemotes: values["rewrite-remotes"] === true,
  };
  if (values["dry-run"]) {
    const plan = await commands.planSwitch(name, folder, request);
    return show(invocation, await withSigningNotes(plan, commands, name));
  }
  const applied = await commands.switch(name, folder, request);
  const plan = await withSigningNotes(applied.plan, commands, name);
  const done = `Switched to identity: ${name}`;
  return tell(invocation, { ...applied, plan }, done, `Already switched to ${name}.`);
}

/** `trunkline identity clone NAME URL [DIR]` */
export async function clone(invocation: Invocation): Promise<number> {
  const { positionals, cwd } = invocation;
  const [name = "", url = "", given] = positionals;
  const last = basename(url.replace(/\/+$/, "").replace(/^.*:/, ""), ".git");
  const folder = resolve(cwd, given ?? last);
  await using commands = await openCommands(invocation);
  const env = await commands.processEnvironment(name, invocation.env);
  const code = await runCommand("git", ["clone", "--", url, folder], { cwd, env });
  if (code !== 0) return code;
  const applied = await commands.switch(name, folder);
  return tell(invocation, applied, `Cloned into ${folder}, as identity: ${name}`, "");
}

/** Warns at the switch that signing does not work; else the next commit would fail. */
async function withSigningNotes(
  plan: ChangePlan,
  commands: IdentityCommands,
  name: string,
): Promise<ChangePlan> {
  const { canSign, says } = await commands.signing(name);
  if (canSign) return plan;
  const note = `${says} \`trunkline identity gpg ${name}\` says more.`;
  return { ...plan, notes: [...plan.notes, note] };
}

/** `trunkline identity undo` */
export async function undo(invocation: Invocation<UndoValues>): Promise<number> {
  const { values } = invocation;
  const identities = await openIdentities(invocation);
  const folder = values.global ? undefined : (values.repo ?? ".");
  const options = {
    force: values.force === true,
    ...(values.id === undefined ? {} : { id: values.id }),
  };
  const plan = () => identities.planUndo(folder, options);
  if (values["dry-run"]) return show(invocation, await plan());
  const applied = await identities.apply(folder ?? "/", plan);
  return tell(invocation, applied, "Undone.", "Nothing to undo.");
}

/** `trunkline identity sync` */
export async function sync(
  invocation: Invocation<DryRunValues & OptionValues<never, "remove">>,
): Promise<number> {
  const { values } = invocation;
  const identities = await openIdentities(invocation);
  const plan = () => identities.planSync({ remove: values.remove === true });
  if (values["dry-run"]) return show(invocation, await plan());
  const applied = await identities.apply("/", plan);
  const done = values.remove ? "Removed the blocks." : "Wrote the identities for ssh and git.";
  return tell(invocation, applied, done, NO_CHANGE);
}

function show(invocation: Invocation, plan: ChangePlan): number {
  const none = plan.files.length === 0 ? [NO_CHANGE] : [];
  const notes = [...none, ...plan.notes.map((note) => `Note: ${note}`)];
  return print(invocation, { dryRun: true, ...planFacts(plan) }, planText(plan), { notes });
}

function tell(invocation: Invocation, applied: AppliedChange, done: string, idle: string): number {
  const { id, plan } = applied;
  const text = `${id === undefined ? idle : done}\n${planText(plan)}`;
  const notes = plan.notes.map((note) => `Note: ${note}`);
  return print(invocation, { id: id ?? null, ...planFacts(plan) }, text, { notes });
}

function planFacts({ kind, identity, subject, settings, files, notes }: ChangePlan): object {
  return {
    kind,
    identity,
    ...subject,
    changes: settings,
    files: files.map(({ path, before, after }) => {
      const becomes =
        before === undefined ? "created" : after === undefined ? "deleted" : "changed";
      return { path, becomes };
    }),
    notes,
  };
}

/** Every file, with the settings that are removed and added. */
function planText({ files, settings }: ChangePlan): string {
  const all = files.flatMap(({ path, before, after }) => {
    const state = before === undefined ? " (new)" : after === undefined ? " (deleted)" : "";
    const lines = settings
      .filter(({ file }) => file === path)
      .flatMap(({ key, before: old, after: fresh }) => [
        ...old.filter((value) => !fresh.includes(value)).map((value) => `  - ${key} = ${value}`),
        ...fresh.filter((value) => !old.includes(value)).map((value) => `  + ${key} = ${value}`),
      ]);
    return [`${path}${state}`, ...lines];
  });
  return linesText(all);
}
