import type { GuardStatus } from "../../../identity/guard/install-guard.ts";
import type { IdentityCommands } from "../../../identity/identity-commands.ts";
import { findRepository } from "../../../review/repository.ts";
import type { SessionReading } from "../../../store/session/session-reader.ts";
import type { AppContext } from "../../../config/app-context.ts";
import { currentIdentities } from "../../../identity/open/open-identities.ts";
import type { Identities, IdentityRow, ProjectIdentity } from "../api.ts";
import { type ApiRoute, route } from "../../../base/capability/api-route.ts";

/** Sessions whose folders are looked at, and folders that are shown. */
const MOST_SESSIONS = 200;
const MOST_PROJECTS = 20;

/** Git identities, and which one is used where. */
export function identityRoutes(app: AppContext, reader: SessionReading): readonly ApiRoute[] {
  return [route("GET /api/identities", "admin", () => readIdentities(app, reader))];
}

async function readIdentities(app: AppContext, reader: SessionReading): Promise<Identities> {
  await using commands = await currentIdentities(app, app.config.data, process.env);
  const identities = await Promise.all(
    commands.identities.list.map(async (identity): Promise<IdentityRow> => {
      const { name, provider, host = "", user = "", email = "", sshKey, signing } = identity;
      const hasSource = identity.settings.tokenSource !== undefined;
      const { storedAt } = await commands.tokens.record(identity);
      return {
        ...{ name, provider, host, user, email },
        ...(sshKey === undefined ? {} : { sshKey }),
        signing: signing === undefined ? "none" : signing.format,
        hasToken: hasSource || storedAt !== undefined,
      };
    }),
  );
  const sessions = await reader.list({ limit: MOST_SESSIONS });
  const folders = new Map<string, number>();
  for (const { cwd, notes } of sessions) {
    const root = notes.run === undefined ? findRepository(cwd)?.root : undefined;
    if (root !== undefined) folders.set(root, (folders.get(root) ?? 0) + 1);
  }
  const projects: ProjectIdentity[] = [];
  for (const [folder, count] of [...folders].slice(0, MOST_PROJECTS)) {
    projects.push(await projectOf(commands, folder, count));
  }
  return { identities, projects };
}

async function projectOf(
  commands: IdentityCommands,
  folder: string,
  sessions: number,
): Promise<ProjectIdentity> {
  try {
    const { author, switched, current, isRight, detected } =
      await commands.identities.status(folder);
    const guard = await commands.guardStatus(folder).catch(() => undefined);
    const identity = switched?.identity ?? current;
    const { email } = author;
    const says = guard?.broken ?? (isRight === false ? detected.explanation : undefined);
    return {
      folder,
      ...(identity === undefined ? {} : { identity }),
      ...(email === undefined ? {} : { email }),
      guard: stateOf(guard),
      ...(says === undefined ? {} : { says }),
      sessions,
    };
  } catch (error) {
    const says = error instanceof Error ? error.message : String(error);
    return { folder, guard: "unknown", says, sessions };
  }
}

function stateOf(guard: GuardStatus | undefined): ProjectIdentity["guard"] {
  if (guard === undefined) return "unknown";
  if (guard.broken !== undefined) return "broken";
  return guard.isInstalled ? "on" : "off";
}
