import { resolve } from "node:path";

import { type ApiRoute, bodyAs, route } from "../../../base/capability/api-route.ts";
import { TrunklineError } from "../../../base/errors.ts";
import { type Principal, scopeRefusal } from "../../../base/principal.ts";
import { maskText } from "../../../base/text/mask.ts";
import {
  addConfigEntry,
  removeConfigEntry,
  SERVER_ENTRIES,
} from "../../../config/edit/config-entries.ts";
import { isUrl, serverEntry } from "../../../config/edit/server-entry.ts";
import { loadConfig } from "../../../config/load.ts";
import type { ServerTested } from "../api.ts";
import { checkNewServer, type NewServer } from "../schema.gen.ts";
import type { DashboardSources } from "../sources.ts";

const MOST_TOOLS = 200;

/** Adding, testing and removing other MCP servers, as the commands do. */
export function serverRoutes(sources: DashboardSources): readonly ApiRoute[] {
  const place = { input: sources.input, kind: "user" } as const;
  return [
    route("POST /api/servers", "admin", async ({ principal, body }) => {
      const wanted = bodyAs(body, checkNewServer);
      const { words, env, headers } = wanted;
      for (const pairs of [env, headers]) refuseNames(pairs);
      refuseWithoutPrograms(principal, wanted);
      const server = {
        words,
        env: env && (async () => ({ ...env })),
        headers: headers && (async () => ({ ...headers })),
      };
      const entry = await serverEntry(server, (path) => resolve(place.input.cwd, path));
      const replace = "Remove it first, or choose another name";
      const name = wanted.name.trim();
      const { file, notes } = await addConfigEntry(place, SERVER_ENTRIES, name, entry, replace);
      return { file, notes };
    }),
    route("POST /api/servers/:id/test", "admin", ({ id }) => testedServer(sources, id)),
    route("POST /api/servers/:id/remove", "admin", async ({ id }) => {
      const { file, notes } = await removeConfigEntry(place, SERVER_ENTRIES, id);
      return { file, notes };
    }),
  ];
}

async function testedServer(
  { testServer, input }: DashboardSources,
  name: string,
): Promise<ServerTested> {
  const { config } = await loadConfig(input);
  const { works, why, milliseconds, offered, held, status } = await testServer(config, name);
  const names = (all: typeof offered): string[] =>
    all.slice(0, MOST_TOOLS).map((tool) => tool.name);
  return {
    ...{ works, milliseconds, tools: names(offered), held: names(held) },
    ...(works ? {} : { why: maskText(why) }),
    log: (status?.said ?? []).slice(-5).map(maskText),
  };
}

/** A program does whatever its user can, and `${…}` of the settings reads secrets: both need more than `admin`. */
function refuseWithoutPrograms(
  principal: Principal,
  { words, env = {}, headers = {} }: NewServer,
): void {
  const isProgram = !isUrl(words[0] ?? "");
  if (!isProgram && !JSON.stringify([words, env, headers]).includes("${")) return;
  const what = isProgram ? "To name a program" : "To refer to secrets by ${…}";
  const refusal = scopeRefusal(principal, "programs", what);
  if (refusal !== undefined) throw new TrunklineError("untrusted", refusal);
}

function refuseNames(pairs: NewServer["env"]): void {
  const odd = Object.keys(pairs ?? {}).find((name) => !/^[\w.-]+$/.test(name));
  if (odd !== undefined) throw new TrunklineError("usage", `'${odd}' is not the name of a pair.`);
}
