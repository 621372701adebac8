import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OWNER } from "../../base/principal.ts";
import type { ProfileSubject } from "./profile.ts";
import { Profiles } from "./profiles.ts";

const PROFILES = new Profiles({
  byName: {},
  claude: { for: { clients: ["claude"] } },
  http: { for: { doors: ["http"] } },
  rest: { for: {} },
});

function chosen(subject: Partial<ProfileSubject>): string | undefined {
  return PROFILES.choose({ door: "mcp", client: "cursor", principal: OWNER, ...subject })?.name;
}

describe("Profiles.choose()", () => {
  it("takes the one that the client was given by name, whatever else fits", () => {
    assert.equal(chosen({ client: "claude", named: "byName" }), "byName");
    const principal = { id: "token 1", profile: "byName" };
    assert.equal(chosen({ client: "claude", principal }), "byName");
    assert.equal(chosen({ named: "claude", principal }), "byName");
  });

  it("otherwise takes the first that fits, in the order of the configuration", () => {
    assert.equal(chosen({ client: "claude", door: "http" }), "claude");
    assert.equal(chosen({ door: "http" }), "http");
    assert.equal(chosen({}), "rest");
  });

  it("takes none where none fits", () => {
    const profiles = new Profiles({ byName: {} });
    assert.equal(profiles.choose({ door: "mcp", client: "a", principal: OWNER }), undefined);
  });

  it("shows nothing to a client whose profile is not there any more, and says why", () => {
    const profile = PROFILES.choose({ door: "mcp", client: "a", principal: OWNER, named: "gone" });
    assert.equal(profile?.hasServer(), false);
    assert.equal(profile?.hasServer("notes"), false);
    assert.equal(profile?.hasResource("a:1"), false);
    assert.match(profile?.problem ?? "", /no profile 'gone'.*use one of: byName, claude/);
  });
});
