import { isAbsolute, resolve } from "node:path";

import type { Principal } from "../base/principal.ts";
import { realPath } from "../base/file/path.ts";
import type { Arguments, ToolContext } from "./tool.ts";

/**
 * Whether a call needs a project, uses one where it is known, or ignores it.
 */
export type ProjectNeed = "needed" | "wanted" | "unused";

/** How the calls of a tool say which project they are about. */
export interface ProjectUse {
  /** The argument that names its folder. */
  readonly argument?: string;
  /** Finds the folder where arguments name it in another way, such as by an id of something in it. */
  readonly find?: (args: Arguments) => Promise<string | undefined>;
  /** "needed" when left out. */
  readonly need?: (args: Arguments) => ProjectNeed;
  /** What a caller can do instead of naming a project. */
  readonly instead?: string;
}

/** That of a tool which is told where its caller works, and works without knowing it. */
export const TOLD: ProjectUse = { need: () => "wanted" };

/** What a call is about. */
export interface Project {
  /** The folder, by its real path. Undefined where nobody says which, or several may be meant. */
  readonly folder?: string | undefined;
  /** Every folder that may be meant, by their real paths. */
  readonly folders: readonly string[];
  /** Where the folder is known from: an argument of the call, the client's roots, or the door. */
  readonly source?: "argument" | "roots" | "folder";
  /** Why it is not exactly one folder. */
  readonly problem?: string;
  /** Why the caller's principal may not work there. */
  readonly refusal?: string;
}

/** Finds the repository that a folder is in, by its top folder. */
export type RepositoryOf = (folder: string) => string | undefined | Promise<string | undefined>;

/** Whether a call of a tool has to do with a project. */
export function isAbout(
  { project }: { readonly project?: ProjectUse | undefined },
  args: Arguments,
): boolean {
  return project !== undefined && needOf(project, args) !== "unused";
}

export function needOf(use: ProjectUse, args: Arguments): ProjectNeed {
  if (namedBy(use, args) !== undefined) return "needed";
  return use.need?.(args) ?? "needed";
}

/**
 * Which project a call is about: the one that its arguments name, else the client's roots, else the
 * folder that the door knows the caller to be in, else none. `use` is left out for a tool that works
 * on no project, whose caller is in one all the same.
 */
export async function resolveProject(
  use: ProjectUse | undefined,
  args: Arguments,
  context: Pick<ToolContext, "folder" | "roots">,
  repositoryOf: RepositoryOf,
): Promise<Project> {
  const found = await use?.find?.(args);
  const named = found ?? (use === undefined ? undefined : namedBy(use, args));
  if (named !== undefined && isAbsolute(named)) return only(named, "argument");
  const ofCaller = await projectOfCaller(context, repositoryOf);
  if (named !== undefined) {
    if (ofCaller.folder !== undefined) return only(resolve(ofCaller.folder, named), "argument");
    const problem = `'${named}' is not an absolute path, and ${ofCaller.problem}`;
    return { folders: [], problem };
  }
  if (use === undefined || ofCaller.folder === undefined) return ofCaller;
  return { ...ofCaller, folders: [ofCaller.folder] };
}

/** The folder of the project that a call is about, or that it was made in, as far as that is known. */
export function projectFolder({
  folder,
  project,
}: Pick<ToolContext, "folder" | "project">): string | undefined {
  return project === undefined ? folder : project.folder;
}

/** Tells the addresses that a folder's repository has. */
export type AddressesOf = (folder: string) => Promise<readonly string[]>;

/** Why a principal that is limited to folders or repositories may not have a tool work there. */
export async function projectRefusal(
  principal: Principal,
  project: Project,
  addressesOf: AddressesOf,
): Promise<string | undefined> {
  const { limits } = principal;
  if (limits?.folders === undefined && limits?.repositories === undefined) return undefined;
  const { refusalIn } = await import("./project/project-access.ts");
  return refusalIn(principal, limits, project, addressesOf);
}

function namedBy({ argument }: ProjectUse, args: Arguments): string | undefined {
  if (argument === undefined || !Object.hasOwn(args, argument)) return undefined;
  const named = args[argument];
  return typeof named === "string" && named !== "" ? named : undefined;
}

async function projectOfCaller(
  context: Pick<ToolContext, "folder" | "roots">,
  repositoryOf: RepositoryOf,
): Promise<Project> {
  const folders = distinct((await context.roots?.()) ?? []);
  const [folder, another] = folders;
  if (another !== undefined) {
    const { repositoryAmong } = await import("./project/several-roots.ts");
    return repositoryAmong(folders, repositoryOf);
  }
  if (folder !== undefined) return { folder, folders: [folder], source: "roots" };
  if (context.folder !== undefined) return only(context.folder, "folder");
  return { folders: [], problem: "the client does not say which folder it works in" };
}

function distinct(roots: readonly string[]): string[] {
  return roots.length === 0 ? [] : [...new Set(roots.map((root) => realPath(root)))];
}

function only(folder: string, source: "argument" | "folder"): Project {
  const real = realPath(folder);
  return { folder: real, folders: [real], source };
}
