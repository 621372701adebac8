import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { OWNER } from "../base/principal.ts";
import { realPath } from "../base/file/path.ts";
import { type Decision, Policy, type PolicyQuestion, type PolicyRule } from "./policy.ts";
import type { Project } from "./tool.ts";

const CALLER = { door: "mcp", name: "claude-code", principal: OWNER, client: "mcp-1" };

function decide(rules: readonly PolicyRule[], question: Partial<PolicyQuestion> = {}) {
  const asked = { tool: "echo", args: {}, caller: CALLER, ...question };
  return new Policy({ default: "ask", rules }).decide(asked);
}

function inFolder(folder: string): Project {
  return { folder: realPath(folder), folders: [realPath(folder)] };
}

describe("Policy", () => {
  it("allows everything if nothing is set", () => {
    assert.equal(new Policy().decide({ tool: "echo", args: {}, caller: CALLER }), "allow");
  });

  it("uses its default if no rule matches", () => {
    assert.equal(decide([{ tool: "other", decision: "deny" }]), "ask");
    assert.equal(decide([]), "ask");
  });

  it("lets the first matching rule decide", () => {
    const rules: PolicyRule[] = [
      { tool: "other", decision: "ask" },
      { tool: "echo", decision: "allow" },
      { tool: "*", decision: "deny" },
    ];
    assert.equal(decide(rules), "allow");
    assert.equal(decide(rules.toReversed()), "deny");
  });

  it("compares the caller's name or its door", () => {
    const by = (caller: string) => decide([{ tool: "*", caller, decision: "deny" }]);
    assert.equal(by("claude-*"), "deny");
    assert.equal(by("mcp"), "deny");
    assert.equal(by("cursor"), "ask");
  });

  it("requires all conditions of a rule", () => {
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

  it("compares the server of a tool", () => {
    const rules: PolicyRule[] = [{ tool: "*", server: "git*", decision: "deny" }];
    assert.equal(decide(rules, { server: "github" }), "deny");
    assert.equal(decide(rules, { server: "files" }), "ask");
    assert.equal(decide(rules), "ask", "one of ours is of no server");
  });

  it("distinguishes a rule's decision from the default", () => {
    const policy = new Policy({
      default: "allow",
      rules: [{ tool: "echo", arguments: { a: "1" }, decision: "allow" }],
    });
    const asked = { tool: "echo", caller: CALLER };
    assert.equal(policy.says({ ...asked, args: { a: "1" } }), "allow");
    assert.equal(policy.says({ ...asked, args: {} }), undefined);
  });

  describe("hides tools that are denied for all arguments", () => {
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

    it("from the callers for whom they are denied", () => {
      assert.equal(hides([deny({ caller: "mcp" })]), true);
      assert.equal(hides([deny({ caller: "bus" })]), false);
      assert.equal(hides([deny({ server: "files" })], "allow", { server: "files" }), true);
    });

    it("and not if it depends on the call", () => {
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

  describe("compares the project's folder", () => {
    const inside: readonly (readonly [string, string, boolean])[] = [
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
    ];
    for (const [project, folder, isInside] of inside) {
      it(`${folder} is ${isInside ? "" : "not "}inside ${project}`, () => {
        const rule: PolicyRule = { tool: "*", project, decision: "deny" };
        assert.equal(decide([rule], { project: inFolder(folder) }), isInside ? "deny" : "ask");
      });
    }

    it("cannot tell before the project is known, unless another rule decides", () => {
      const rule: PolicyRule = { tool: "*", project: "/srv", decision: "deny" };
      assert.equal(decide([rule], {}), "needs project");
      assert.equal(decide([{ tool: "*", decision: "allow" }, rule], {}), "allow");
      assert.equal(decide([{ ...rule, tool: "other" }], {}), "ask");
    });
  });

  describe("compares arguments", () => {
    const by = (pattern: string, args: Record<string, unknown>) =>
      decide([{ tool: "*", arguments: { path: pattern }, decision: "deny" }], { args });

    it("as texts, and anything else as JSON", () => {
      assert.equal(by("/etc/*", { path: "/etc/passwd" }), "deny");
      assert.equal(by("/etc/*", { path: "/home" }), "ask");
      assert.equal(by("3", { path: 3 }), "deny");
      assert.equal(by("true", { path: true }), "deny");
      assert.equal(by('["/etc/*', { path: ["/etc/passwd"] }), "deny");
      assert.equal(by("null", { path: null }), "deny");
    });

    it("and treats a missing one as an empty text", () => {
      assert.equal(by("", {}), "deny");
      assert.equal(by("*", {}), "deny");
      assert.equal(by("?*", {}), "ask");
    });

    it("and sees only own members", () => {
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

  it("compares names of tools literally", () => {
    const rules: PolicyRule[] = [{ tool: "__proto__", decision: "deny" }];
    assert.equal(decide(rules, { tool: "__proto__" }), "deny");
    assert.equal(decide(rules, { tool: "constructor" }), "ask");
    assert.equal(decide([{ tool: "a.c", decision: "deny" }], { tool: "abc" }), "ask");
  });

  it("is fast on hostile arguments", () => {
    const rule: PolicyRule = {
      tool: "*",
      arguments: { text: `${"*a".repeat(20)}*b` },
      decision: "deny",
    };
    assert.equal(decide([rule], { args: { text: "a".repeat(100_000) } }), "ask");
  });
});
