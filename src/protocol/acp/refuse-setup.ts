import {
  limitRefusal,
  type Principal,
  scopeRefusal,
  mayUseFolder,
  mayUseRepository,
} from "../../base/principal.ts";
import type { McpServer } from "../../session/agent.ts";
import { SessionError } from "../../session/session-error.ts";
import type { SessionSetup } from "../../session/session-setup.ts";
import type { AcpDoor } from "./door.ts";

/** A stdio server is started at once, with the rights of the gateway, so it needs a scope of its own. */
export function refusePrograms(servers: readonly McpServer[], principal: Principal): void {
  const program = servers.find(({ command }) => command !== undefined);
  if (program === undefined) return;
  const what = `To name a command that is started (MCP server '${program.name.slice(0, 64)}')`;
  const refusal = scopeRefusal(principal, "programs", what);
  if (refusal !== undefined) throw new SessionError("permission-denied", refusal);
}

/** Throws if the setup names a folder or repository that the principal may not use. */
export async function refuseFolders(
  door: AcpDoor,
  { cwd, additionalDirectories }: SessionSetup,
  principal: Principal,
): Promise<void> {
  for (const folder of [cwd, ...additionalDirectories]) {
    if (!mayUseFolder(principal, folder)) {
      throw denied(principal, `the folder '${folder}'`, `--folder ${folder}`);
    }
    if (principal.limits?.repositories === undefined) continue;
    const addresses = (await door.options.addressesOf?.(folder)) ?? [];
    if (!mayUseRepository(principal, addresses)) {
      const [address] = addresses;
      const what =
        address === undefined
          ? `'${folder}', which is in no repository with an address`
          : `the repository '${address}'`;
      throw denied(principal, what, `--repo ${address ?? "ADDRESS"}`);
    }
  }
}

function denied(principal: Principal, what: string, option: string): SessionError {
  return new SessionError("permission-denied", limitRefusal(principal, what, option));
}
