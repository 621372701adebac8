import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { OWNER } from "../../base/principal.ts";
import { SampleContext, sampleTool } from "../../../test/samples/sample-context.ts";
import { textResult, type Tool } from "../tool.ts";
import type { ProfileSettings } from "../../config/schema/schema.gen.ts";
import { Profile, type ProfileSubject } from "./profile.ts";

const SUBJECT: ProfileSubject = { door: "mcp", client: "claude-code", principal: OWNER };

function tool(name: string, server?: string, original = name): Tool {
  const source = server === undefined ? {} : { source: { server, name: original } };
  return sampleTool(name, () => textResult(""), source);
}

const profile = (settings: ProfileSettings): Profile => new Profile("p", settings);

describe("a profile's tools", () => {
  it("are those that its patterns allow and do not deny", () => {
    const { hasTool } = bound({ tools: { allow: ["read_*"], deny: ["*_secret"] } });
    assert.equal(hasTool(tool("read_note")), true);
    assert.equal(hasTool(tool("write_note")), false);
    assert.equal(hasTool(tool("read_secret")), false);
  });

  it("are those of its servers; our own belong to 'trunkline', and a plugin's to the plugin", () => {
    const { hasTool } = bound({ servers: { allow: ["notes", "tools.greet"] } });
    assert.equal(hasTool(tool("read", "notes")), true);
    assert.equal(hasTool(tool("read", "files")), false);
    assert.equal(hasTool(tool("juggler_status")), false);
    assert.equal(hasTool({ ...tool("greet"), bringer: "tools.greet" }), true);
    assert.equal(bound({ servers: { deny: ["trunkline"] } }).hasTool(tool("review_list")), false);
  });

  it("cannot escape a denial by the name that a second server's tool gets here", () => {
    const { hasTool } = bound({ tools: { deny: ["delete"] } });
    assert.equal(hasTool(tool("notes_delete", "notes", "delete")), false);
    assert.equal(hasTool(tool("notes_read", "notes", "read")), true);
  });

  it("are not allowed for the name that another server's tool has there", () => {
    const { hasTool } = bound({ tools: { allow: ["read", "files/write"] } });
    assert.equal(hasTool(tool("read", "files")), true);
    assert.equal(hasTool(tool("evil_read", "evil", "read")), false);
    assert.equal(hasTool(tool("files_write", "files", "write")), true);
  });

  it("have their new names, and nothing else has those", () => {
    const renaming = profile({ tools: { rename: { read_note: "read", write_note: "read" } } });
    const note = tool("read_note");
    assert.equal(renaming.shown(note).definition.name, "read");
    assert.equal(renaming.shown(note), renaming.shown(note));
    assert.equal(renaming.hasTool(note), true);
    assert.equal(renaming.hasTool(tool("read")), false);
    assert.equal(renaming.hasTool(tool("write_note")), false);
    assert.equal(renaming.toolNames.real("read"), "read_note");
    assert.equal(renaming.toolNames.real("read_note"), undefined);
    assert.equal(renaming.toolNames.real("other"), "other");
  });

  function bound(settings: ProfileSettings): { hasTool: (one: Tool) => boolean } {
    const made = profile(settings);
    return { hasTool: (one) => made.hasTool(one) };
  }
});

describe("a profile's resources", () => {
  it("are those of its servers whose URIs fit", () => {
    const made = profile({ servers: { deny: ["files"] }, resources: { allow: ["note://open/*"] } });
    assert.equal(made.hasResource("note://open/1", "notes"), true);
    assert.equal(made.hasResource("note://closed/1", "notes"), false);
    assert.equal(made.hasResource("note://open/1", "files"), false);
  });

  it("do not lead out of the pattern that allows them", () => {
    const made = profile({ resources: { allow: ["file:///open/*"] } });
    assert.equal(made.hasResource("file:///open/a..b/c"), true);
    for (const up of ["..", "%2e%2E", ".%2e"]) {
      for (const slash of ["/", "%2F", "\\"]) {
        const uri = `file:///open/${up}${slash}closed`;
        assert.equal(made.hasResource(uri), false, uri);
      }
    }
    assert.equal(made.hasResource("file:///open/a/.."), false);
    // Where all are allowed, there is nothing to lead out of.
    assert.equal(profile({}).hasResource("file:///open/../closed"), true);
  });
});

describe("a profile that denies resources", () => {
  it("denies them however their URI is written", () => {
    const made = profile({ resources: { deny: ["file:///closed/*"] } });
    for (const uri of [
      "file:///closed/a",
      "file:///%63losed/a",
      "file:///closed%2fa",
      "file:///closed%2F%ff",
      "FILE:///closed/a",
      "file:///./closed/a",
      "file:///%2e/closed/a",
      "file:\\\\\\closed\\a",
      "file://localhost/closed/a",
    ]) {
      assert.equal(made.hasResource(uri), false, uri);
    }
    assert.equal(made.hasResource("file:///open/%63losed"), true);
    assert.equal(made.hasResource("note://{id}"), true);
  });
});

describe("Profile.fits()", () => {
  it("is false for a profile that is only given by name, and true for one that is for all", () => {
    assert.equal(profile({}).fits(SUBJECT), false);
    assert.equal(profile({ for: {} }).fits(SUBJECT), true);
  });

  it("wants every condition that is given", () => {
    const wanted = profile({ for: { clients: ["claude-*"], doors: ["mcp"], tokens: ["ci-*"] } });
    const principal = { id: "token 1", name: "ci-1" };
    assert.equal(wanted.fits({ ...SUBJECT, principal }), true);
    assert.equal(wanted.fits(SUBJECT), false);
    assert.equal(wanted.fits({ ...SUBJECT, principal, door: "http" }), false);
    assert.equal(wanted.fits({ ...SUBJECT, principal, client: "cursor" }), false);
  });

  it("goes by the folder that a client really works in", () => {
    const home = mkdtempSync(join(tmpdir(), "trunkline-profile-"));
    try {
      mkdirSync(join(home, "code/app"), { recursive: true });
      mkdirSync(join(home, "codex"));
      symlinkSync(join(home, "code/app"), join(home, "link"));
      const wanted = profile({ for: { projects: [join(home, "code")] } });
      assert.equal(wanted.fits({ ...SUBJECT, folder: join(home, "code/app") }), true);
      assert.equal(wanted.fits({ ...SUBJECT, folder: join(home, "link") }), true);
      assert.equal(wanted.fits({ ...SUBJECT, folder: join(home, "codex") }), false);
      assert.equal(wanted.fits(SUBJECT), false);
    } finally {
      rmSync(home, { recursive: true });
    }
  });
});

describe("a profile's rates", () => {
  it("count the calls of each client, of all tools that fit together", () => {
    const made = profile({ rates: [{ tool: "read_*", calls: 2, seconds: 3600 }] });
    const { caller } = new SampleContext({ caller: { client: "one" } });
    assert.equal(made.wait("read_a", caller), 0);
    assert.equal(made.wait("read_b", caller), 0);
    assert.ok(made.wait("read_a", caller) > 3_000_000);
    assert.equal(made.wait("write_a", caller), 0);
    assert.equal(made.wait("read_a", { ...caller, client: "other" }), 0);
  });
});
