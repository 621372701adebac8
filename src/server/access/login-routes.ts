import { type ApiRoute, route } from "../../base/capability/api-route.ts";
import { TrunklineError } from "../../base/errors.ts";
import { OWNER, personOf, type Principal } from "../../base/principal.ts";
import {
  type PersonLogin,
  type ServerLogins,
  shownLogin,
} from "../../upstream/open/server-logins.ts";

/** The logins of people at MCP servers: each sees and ends their own, and the owner those of all. */
export function loginRoutes(logins: Pick<ServerLogins, "listOf" | "end">): readonly ApiRoute[] {
  const seenBy = async (principal: Principal): Promise<PersonLogin[]> => {
    const person = personOf(principal);
    const all = await logins.listOf();
    return principal.id === OWNER.id ? all : all.filter((login) => login.person === person);
  };
  return [
    route("GET /api/logins", "nothing", async ({ principal }) => ({
      logins: (await seenBy(principal)).map((login) => ({ id: login.key, ...shownLogin(login) })),
    })),
    route("POST /api/logins/:id/end", "nothing", async ({ id, principal }) => {
      const ending = (await seenBy(principal)).filter(({ key }) => key === id);
      if (ending.length === 0) {
        throw new TrunklineError("not-found", "You have no such login. It may be over already.");
      }
      const by = principal.id === OWNER.id ? "owner" : principal.id;
      return { ok: true, problems: await logins.end(ending, by) };
    }),
  ];
}
