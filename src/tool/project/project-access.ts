import {
  limitRefusal,
  mayUseFolder,
  mayUseRepository,
  type Principal,
  type PrincipalLimits,
} from "../../base/principal.ts";
import type { AddressesOf, Project, ProjectUse } from "../project.ts";

/** Why a principal with these limits may not have a tool work in a project. */
export async function refusalIn(
  principal: Principal,
  limits: PrincipalLimits,
  { folders }: Project,
  addressesOf: AddressesOf,
): Promise<string | undefined> {
  if (folders.length === 0) {
    const only = [...(limits.folders ?? []), ...(limits.repositories ?? [])].join(", ");
    return `The call does not say which folder it is about, and its token is good only for ${only}`;
  }
  for (const folder of folders) {
    if (!mayUseFolder(principal, folder)) {
      return limitRefusal(principal, `the folder '${folder}'`, `--folder ${folder}`);
    }
    if (limits.repositories === undefined) continue;
    const addresses = await addressesOf(folder);
    if (mayUseRepository(principal, addresses)) continue;
    const [address = "ADDRESS"] = addresses;
    return limitRefusal(principal, `the repository in '${folder}'`, `--repo ${address}`);
  }
  return undefined;
}

/** What to answer a call that needs a project and does not say which. */
export function projectMissing(tool: string, use: ProjectUse, project: Project): string {
  const { argument, instead } = use;
  const { problem = "nothing says which one is meant" } = project;
  const ways = [
    ...(argument === undefined ? [] : [`give its absolute path as '${argument}'`]),
    ...(instead === undefined ? [] : [instead]),
    "configure one folder as the client's root",
  ];
  const next = ways.join(", or ");
  const what = `Cannot tell which repository '${tool}' is to work on: ${problem}`;
  return `${what}. ${next.charAt(0).toUpperCase()}${next.slice(1)}.`;
}
