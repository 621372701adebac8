import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleFolder } from "../../../test/samples/sample-folder.ts";
import { Log } from "../../base/log.ts";
import { OWNER, type Principal } from "../../base/principal.ts";
import { SessionLog } from "../../store/session/session-log.ts";
import { SessionReader } from "../../store/session/session-reader.ts";
import { type DashboardOptions, openDashboard } from "./dashboard.ts";
import type { ApiRoute } from "../../base/capability/api-route.ts";
import { routeRefusal } from "./router.ts";

/** Each route, and what it needs. A new one has to be put here, and so has to be thought about. */
const NEEDS = `
GET /api/me nothing
GET /api/events nothing
GET /api/overview nothing
GET /api/start/agents sessions
GET /api/start/folders sessions
GET /api/start/files sessions
POST /api/sessions sessions
POST /api/runs sessions
GET /api/sessions nothing
GET /api/sessions/:id nothing
GET /api/sessions/:id/events nothing
GET /api/sessions/:id/traffic nothing
GET /api/sessions/:id/traffic/:part nothing
GET /api/sessions/:id/files nothing
GET /api/sessions/:id/diff nothing
GET /api/sessions/:id/undo nothing
GET /api/sessions/:id/why nothing
GET /api/sessions/:id/export nothing
GET /api/sessions/:id/move admin
POST /api/sessions/:id/prompt sessions
POST /api/sessions/:id/cancel sessions
POST /api/sessions/:id/undo sessions
POST /api/sessions/:id/redo sessions
POST /api/sessions/:id/answer sessions
POST /api/sessions/:id/setting sessions
POST /api/sessions/:id/move admin
POST /api/sessions/:id/comment review review_reply
GET /api/runs nothing
GET /api/runs/:id nothing
GET /api/runs/:id/patch nothing
GET /api/runs/:id/diff nothing
GET /api/threads nothing review_list
GET /api/threads/:id nothing review_list
GET /api/threads/:id/why nothing review_list
POST /api/threads/:id/reply review review_reply
POST /api/threads/:id/resolve review review_reply
POST /api/threads/:id/reopen review review_reply
GET /api/tools nothing
GET /api/tools/:id/definition nothing
POST /api/tools/:id/call nothing
POST /api/calls/:id/answer nothing
GET /api/audit nothing
GET /api/notifications nothing
GET /api/logins nothing
POST /api/logins/:id/end nothing
GET /api/agents admin
GET /api/approvals admin
GET /api/calls admin
GET /api/fleet admin
GET /api/identities admin
GET /api/plugins admin
GET /api/servers admin
GET /api/tokens admin
POST /api/agents/add programs
POST /api/approvals/approve admin
POST /api/identities admin
POST /api/identities/switch admin
POST /api/plugins/:id/restart admin
POST /api/servers admin
POST /api/servers/:id/remove admin
POST /api/servers/:id/restart admin
POST /api/servers/:id/test admin
POST /api/tokens admin
POST /api/tokens/:id/revoke admin
POST /api/tools/policy admin
`;

const ALL = ["tools", "sessions", "programs", "review", "dashboard", "admin"] as const;

async function routesOf(data: string): Promise<readonly ApiRoute[]> {
  await using _log = await SessionLog.open(data);
  const sources = { tools: {}, bus: {}, fleet: {}, input: {} };
  const app = { config: { data, limits: {} }, log: new Log("error", () => {}) };
  const reader = (): Promise<SessionReader> => SessionReader.open(data);
  const options = { app, sources, reader, holder: "x" } as unknown as DashboardOptions;
  await using dashboard = await openDashboard(options);
  return dashboard.routes;
}

const isForAll = (needs: ApiRoute["needs"]): boolean => needs === "admin" || needs === "programs";

const nameOf = ({ method, path }: ApiRoute): string => `${method} ${path}`;

describe("the routes of the dashboard", () => {
  it("each say what they need", async () => {
    await using folder = await SampleFolder.create();
    const routes = await routesOf(folder.path);
    const said = routes.map((route) =>
      [nameOf(route), route.needs, route.tool].filter(Boolean).join(" "),
    );
    assert.deepEqual(said.toSorted(), NEEDS.trim().split("\n").toSorted());
  });

  it("hold the limits of a token, whatever its scopes are", async () => {
    await using folder = await SampleFolder.create();
    const routes = await routesOf(folder.path);
    const open = (more: Partial<Principal>): Set<string> => {
      const principal = { id: "token 1", scopes: [...ALL], ...more };
      return new Set(
        routes.filter((route) => routeRefusal(principal, route) === undefined).map(nameOf),
      );
    };
    const these = (isIt: (route: ApiRoute) => boolean): Set<string> =>
      new Set(routes.filter(isIt).map(nameOf));
    assert.deepEqual(
      open(OWNER),
      these(() => true),
    );
    assert.deepEqual(
      open({}),
      these(() => true),
    );
    assert.deepEqual(
      open({ limits: { observe: true } }),
      these(({ method }) => method === "GET"),
    );
    const limits = [{ folders: ["/"] }, { repositories: ["*"] }, { agents: ["*"] }];
    for (const limit of limits) {
      assert.deepEqual(
        open({ limits: limit }),
        these(({ needs }) => !isForAll(needs)),
      );
    }
    assert.deepEqual(
      open({ profile: "x" }),
      these(({ needs }) => !isForAll(needs)),
    );
    assert.deepEqual(
      open({ limits: { tools: ["other"] } }),
      these(({ needs, tool }) => !isForAll(needs) && tool === undefined),
    );
    assert.deepEqual(
      open({ limits: { tools: ["review_list"] } }),
      these(({ needs, tool }) => !isForAll(needs) && tool !== "review_reply"),
    );
    for (const scope of ["sessions", "review", "admin"] as const) {
      assert.deepEqual(
        open({ scopes: ["dashboard", scope] }),
        these(({ needs }) => needs === "nothing" || needs === scope),
      );
    }
    assert.deepEqual(
      open({ scopes: ["dashboard", "programs"] }),
      these(({ needs }) => needs === "nothing"),
    );
    assert.deepEqual(
      open({ scopes: ["dashboard", "admin", "programs"] }),
      these(({ needs }) => needs === "nothing" || isForAll(needs)),
    );
  });

  it("that `admin` opens are those that SECURITY.md names", async () => {
    await using folder = await SampleFolder.create();
    const admin = (await routesOf(folder.path)).filter(({ needs }) => isForAll(needs));
    const text = await readFile(join(import.meta.dirname, "../../../docs/SECURITY.md"), "utf8");
    const [, section = ""] = /### What `admin` allows\n(.*?)\n##/s.exec(text) ?? [];
    const named = Array.from(
      section.matchAll(/`((?:GET|POST) \/api\/[^`]+)`/g),
      ([, it = ""]) => it,
    );
    assert.deepEqual(named.toSorted(), admin.map(nameOf).toSorted());
  });
});
