import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OWNER } from "../base/principal.ts";
import { realPath } from "../base/file/path.ts";
import { type Decision, Policy, type PolicyQuestion, type PolicyRule } from "./policy.ts";
import type { Project } from "./project.ts";

const CALLER = { door: "mcp", name: "claude-code", principal: OWNER, client: "mcp-1" };

function decide(rules: readonly PolicyRule[], question: Partial<PolicyQuestion> = {}): Decision {
  const asked = { tool: "echo", args: {}, caller: CALLER, ...question };
  return new Policy({ default: "ask", rules }).decide(asked);
}

function inFolder(folder: string): Project {
  return { folder: realPath(folder), folders: [realPath(folder)] };
}

describe("Policy", () => {
  it("allows everything where nothing is set", () => {
    assert.equal(new Policy().decide({ tool: "echo", args: {}, caller: CALLER }), "allow");
  });

  it("falls back to its default where no rule fits", () => {
    assert.equal(decide([{ tool: "other", decision: "deny" }]), "ask");
    assert.equal(decide([]), "ask");
  });

  it("lets the first rule that fits decide", () => {
    const rules: PolicyRule[] = [
      { tool: "other", decision: "ask" },
      { tool: "echo", decision: "allow" },
      { tool: "*", decision: "deny" },
    ];
    assert.equal(decide(rules), "allow");
    assert.equal(decide(rules.toReversed()), "deny");
  });

  it("goes by the caller's name or its door", () => {
    const by = (caller: string): Decision => decide([{ tool: "*", caller, decision: "deny" }]);
    assert.equal(by("claude-*"), "deny");
    assert.equal(by("mcp"), "deny");
    assert.equal(by("cursor"), "ask");
  });

  it("needs all that a rule says", () => {
    const rule: PolicyRule = {
      tool: "echo",
      caller: "mcp",
      project: "/srv",
      arguments: { a: "1" },
      decision: "deny",
    };
    const args = { a: "1" };
    assert.equal(decide([rule], { project: inFolder("/srv"), args }), "deny");
    assert.equal(decide([rule], { project: inFolder("/other"), args }), "ask");
    assert.equal(decide([rule], { project: inFolder("/srv") }), "ask");
    assert.equal(decide([rule], { project: inFolder("/srv"), args, tool: "x" }), "ask");
  });

  it("goes by the server that a tool is from", () => {
    const rules: PolicyRule[] = [{ tool: "*", server: "git*", decision: "deny" }];
    assert.equal(decide(rules, { server: "github" }), "deny");
    assert.equal(decide(rules, { server: "files" }), "ask");
    assert.equal(decide(rules), "ask", "one of ours is of no server");
  });

  it("tells what a rule says from what holds where none does", () => {
    const policy = new Policy({
      default: "allow",
      rules: [{ tool: "echo", arguments: { a: "1" }, decision: "allow" }],
    });
    const asked = { tool: "echo", caller: CALLER };
    assert.equal(policy.says({ ...asked, args: { a: "1" } }), "allow");
    assert.equal(policy.says({ ...asked, args: {} }), undefined);
  });

  describe("hides what is denied whatever the arguments", () => {
    const hides = (
      rules: readonly PolicyRule[],
      fallback: Decision = "allow",
      about: Partial<PolicyQuestion> = {},
    ): boolean => {
      const caller = CALLER;
      return new Policy({ default: fallback, rules }).hides({ tool: "echo", caller, ...about });
    };
    const deny = (more: Partial<PolicyRule> = {}): PolicyRule => {
      return { tool: "*", decision: "deny", ...more };
    };
    const allow = (more: Partial<PolicyRule> = {}): PolicyRule => {
      return { tool: "*", decision: "allow", ...more };
    };

    it("by a rule or by default", () => {
      assert.equal(hides([deny()]), true);
      assert.equal(hides([], "deny"), true);
      assert.equal(hides([]), false);
      assert.equal(hides([], "ask"), false);
      assert.equal(hides([deny({ tool: "other" })]), false);
      assert.equal(hides([allow({ tool: "echo" })], "deny"), false);
      assert.equal(hides([allow({ tool: "other" })], "deny"), true);
    });

    it("from the callers that it is denied to", () => {
      assert.equal(hides([deny({ caller: "mcp" })]), true);
      assert.equal(hides([deny({ caller: "bus" })]), false);
      assert.equal(hides([deny({ server: "files" })], "allow", { server: "files" }), true);
    });

    it("and not where it depends on the call", () => {
      assert.equal(hides([deny({ arguments: { path: "/etc/*" } })]), false);
      assert.equal(hides([allow({ arguments: { path: "/srv/*" } }), deny()]), false);
      assert.equal(hides([deny({ arguments: { path: "/etc/*" } }), deny()]), true);
      assert.equal(hides([allow({ project: "/srv" })], "deny"), false, "of a project unknown");
      assert.equal(hides([deny({ project: "/srv" })]), false);
      assert.equal(
        hides([deny({ project: "/srv" })], "allow", { project: inFolder("/srv") }),
        true,
      );
      assert.equal(hides([allow({ project: "/srv" })], "deny", { project: inFolder("/a") }), true);
    });
  });

  describe("goes by the project's folder", () => {
    const inside: readonly (readonly [string, string | undefined, boolean])[] = [
      ["/srv", "/srv", true],
      ["/srv", "/srv/", true],
      ["/srv/", "/srv", true],
      ["/srv", "/srv/a/b", true],
      ["/srv", "/srv/../srv/a", true],
      ["/", "/anything", true],
      ["/srv", "/srvant", false],
      ["/srv", "/srv/../home", false],
      ["/srv", "/", false],
      ["/srv/a", "/srv", false],
      ["/srv", undefined, false],
    ];
    for (const [project, folder, isInside] of inside) {
      it(`${String(folder)} is ${isInside ? "" : "not "}inside ${project}`, () => {
        const rule: PolicyRule = { tool: "*", project, decision: "deny" };
        assert.equal(
          decide([rule], { project: folder === undefined ? undefined : inFolder(folder) }),
          isInside ? "deny" : "ask",
        );
      });
    }
  });

  describe("goes by arguments", () => {
    const by = (pattern: string, args: Record<string, unknown>): Decision =>
      decide([{ tool: "*", arguments: { path: pattern }, decision: "deny" }], { args });

    it("as texts, with anything else as JSON", () => {
      assert.equal(by("/etc/*", { path: "/etc/passwd" }), "deny");
      assert.equal(by("/etc/*", { path: "/home" }), "ask");
      assert.equal(by("3", { path: 3 }), "deny");
      assert.equal(by("true", { path: true }), "deny");
      assert.equal(by('["/etc/*', { path: ["/etc/passwd"] }), "deny");
      assert.equal(by("null", { path: null }), "deny");
    });

    it("and takes a missing one for an empty text", () => {
      assert.equal(by("", {}), "deny");
      assert.equal(by("*", {}), "deny");
      assert.equal(by("?*", {}), "ask");
    });

    it("and sees only the caller's own", () => {
      const rule = (name: string): PolicyRule => ({
        tool: "*",
        arguments: { [name]: "" },
        decision: "deny",
      });
      for (const name of ["__proto__", "constructor", "toString"]) {
        assert.equal(decide([rule(name)], { args: {} }), "deny", name);
        const args = JSON.parse(`{"${name}":"x"}`) as Record<string, unknown>;
        assert.equal(decide([rule(name)], { args }), "ask", name);
      }
    });
  });

  it("takes names of tools as they are", () => {
    const rules: PolicyRule[] = [{ tool: "__proto__", decision: "deny" }];
    assert.equal(decide(rules, { tool: "__proto__" }), "deny");
    assert.equal(decide(rules, { tool: "constructor" }), "ask");
    assert.equal(decide([{ tool: "a.c", decision: "deny" }], { tool: "abc" }), "ask");
  });

  it("is done with hostile arguments in no time", () => {
    const rule: PolicyRule = {
      tool: "*",
      arguments: { text: `${"*a".repeat(20)}*b` },
      decision: "deny",
    };
    assert.equal(decide([rule], { args: { text: "a".repeat(100_000) } }), "ask");
  });
});
