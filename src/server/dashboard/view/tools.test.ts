import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { sampleTool } from "../../../../test/samples/sample-context.ts";
import { OWNER, type Principal } from "../../../base/principal.ts";
import { Offer } from "../../../tool/offer/offer.ts";
import { Profiles } from "../../../tool/profile/profiles.ts";
import { textResult } from "../../../tool/tool.ts";
import type { ApiCall } from "../../../base/capability/api-route.ts";
import type { DashboardSources } from "../sources.ts";
import { callStatistics } from "./call-statistics.ts";
import { toolRoutes } from "./tools.ts";

/** The names that `/api/tools` lists. */
async function listedFor(principal: Principal): Promise<string[]> {
  const offer = new Offer();
  for (const name of ["look", "remove"]) {
    offer.tools.add(sampleTool(name, () => textResult("")));
  }
  offer.profiles = new Profiles({
    reading: { tools: { deny: ["remove"] } },
    bots: { for: { tokens: ["bot-*"] }, tools: { deny: ["look"] } },
    all: { for: {}, tools: { allow: [] } },
  });
  // Only the offer is asked for here.
  const sources = { tools: { offer } } as unknown as DashboardSources;
  const tools = toolRoutes(sources, callStatistics("/nowhere"));
  const route = tools.routes.find(({ path }) => path === "/api/tools");
  const answer = await route?.handle({ principal } as ApiCall);
  return (answer as { tools: { name: string }[] }).tools.map(({ name }) => name);
}

describe("the dashboard's list of tools", () => {
  it("shows a token with a profile what the profile shows", async () => {
    const token = { id: "token 1", name: "bot", scopes: ["tools"] } as const;
    assert.deepEqual(await listedFor({ ...token, profile: "reading" }), ["look"]);
    assert.deepEqual(await listedFor({ ...token, profile: "gone" }), []);
    assert.deepEqual(await listedFor({ ...token, name: "bot-1" }), ["remove"]);
  });

  it("shows the person all tools, whatever profile clients get", async () => {
    assert.deepEqual(await listedFor(OWNER), ["look", "remove"]);
  });
});
