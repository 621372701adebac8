import {
  limitRefusal,
  mayControl,
  type Principal,
  scopeRefusal,
  mayUseFolder,
  mayUseRepository,
} from "../../base/principal.ts";
import type { McpServer } from "../../session/agent.ts";
import { SessionError } from "../../session/session-error.ts";
import type { SessionSetup } from "../../session/session-setup.ts";
import type { AcpConnection } from "./connection.ts";
import type { AcpDoor } from "./door.ts";

/** Throws if a client only watches the session, or may only watch sessions at all. */
export function refuseObserver(client: AcpConnection, sessionId: string, what: string): void {
  if (client.roleIn(sessionId) === "controller") return;
  const next = mayControl(client.principal)
    ? "Open it with session/load, without the role 'observer', to take part."
    : "Use a token that was created without --observe.";
  const why = `Cannot ${what}: you observe this session. ${next}`;
  throw new SessionError("permission-denied", why, { role: "observer" });
}

/** Throws if a principal may only watch sessions. */
export function refuseWatcher({ principal }: AcpConnection, what: string): void {
  if (mayControl(principal)) return;
  const next = "Use a token that was created without --observe.";
  throw new SessionError("permission-denied", `Cannot ${what}: this token only observes. ${next}`);
}

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
