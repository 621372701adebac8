import { absolutePath } from "../base/process/environment.ts";
import { findProgram } from "../run/open/find-program.ts";
import { lazygitChange } from "../review/transfer/lazygit-setup.ts";
import type { Invocation } from "../cli/shell/command.ts";
import { presentIn } from "./change.ts";
import { isMap } from "./format/format.ts";
import { edited } from "./format/edit.ts";
import { placesOf } from "./places.ts";
import { changeFor } from "./program.ts";
import { readProgramFile } from "./program-file.ts";
import { type Target, TARGETS } from "./targets.ts";

/** A program as it is on this machine. */
export interface FoundProgram {
  readonly name: string;
  readonly label: string;
  /** The program, or the folder that shows that it was here; undefined if it was not found. */
  readonly at: string | undefined;
  /**
   * Whether our entry is there: as it would be written now (`yes`, or `http`), with another command
   * (`differs`), or not. `unknown` if the file cannot be read, `by-hand` if that is not ours to see.
   */
  readonly state: "yes" | "http" | "differs" | "no" | "unknown" | "by-hand";
  readonly problem?: string;
}

/** All programs that can be set up, in the order of the table. */
export function findPrograms(invocation: Invocation): FoundProgram[] {
  const { env, cwd } = invocation;
  const at = (...programs: string[]): string | undefined =>
    programs.map((program) => findProgram(program, absolutePath(env.PATH))?.path).find(Boolean);
  const lazygit = at("lazygit");
  return [
    ...TARGETS.map((target) => lookAt(invocation, target, at(...target.programs))),
    { name: "neovim", label: "Neovim", at: at("nvim"), state: "by-hand" },
    {
      name: "lazygit",
      label: "lazygit",
      at: lazygit,
      ...stateOf(() => (hasLazygit(env, cwd) ? "yes" : "no")),
    },
  ];
}

function lookAt(invocation: Invocation, target: Target, program: string | undefined): FoundProgram {
  const { name, label } = target;
  const places = placesOf(invocation.env);
  const folder = target.folder(places);
  const at = program ?? (places.exists(folder) ? folder : undefined);
  return { name, label, at, ...stateOf(() => entryState(invocation, target)) };
}

function stateOf(look: () => FoundProgram["state"]): Pick<FoundProgram, "state" | "problem"> {
  try {
    return { state: look() };
  } catch (error) {
    return { state: "unknown", problem: (error as Error).message };
  }
}

function entryState(invocation: Invocation, target: Target): FoundProgram["state"] {
  const file = readProgramFile(target.file(placesOf(invocation.env)));
  if (file.text === undefined) return "no";
  const change = changeFor(invocation, target, file);
  const present = presentIn(change);
  if (!present.every(isMap)) return "no";
  if (edited(target.format, file.text, change.edits) === file.text) return "yes";
  return present.some((entry) => /"https?:/.test(JSON.stringify(entry))) ? "http" : "differs";
}

function hasLazygit(env: NodeJS.ProcessEnv, cwd: string): boolean {
  if (lazygitChange({ env, remove: true }).hasOurs) return true;
  try {
    return lazygitChange({ env, repo: cwd, remove: true }).hasOurs;
  } catch {
    // Not in a repository.
    return false;
  }
}
