import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { installing, type MachineFacts, remedyFor, systemProgram, thisMachine } from "./remedy.ts";

describe("systemProgram()", () => {
  it("finds system programs, regardless of PATH", () => {
    assert.match(systemProgram("sh") ?? "", /^\/(?:usr\/)?bin\/sh$|^\/run\//);
    assert.equal(systemProgram("no-such-program"), undefined);
  });
});

function machine(
  settings: Record<string, string> = {},
  more: Partial<MachineFacts> = {},
): MachineFacts {
  return {
    setting: (name) => settings[name],
    system: "debian",
    container: undefined,
    isRoot: false,
    ...more,
  };
}

describe("remedyFor()", () => {
  const denied = "bwrap: setting up uid map: Permission denied";

  it("names the install command of this system for a missing package", () => {
    const problem = "bwrap is not installed: install the package bubblewrap";
    assert.equal(remedyFor(problem, machine()), "Run: sudo apt install bubblewrap");
    const fedora = machine({}, { system: "nobara fedora" });
    assert.equal(remedyFor(problem, fedora), "Run: sudo dnf install bubblewrap");
    assert.equal(installing("x", machine({}, { system: "" })), "Install the package x.");
  });

  it("names the kernel setting that forbids user namespaces", () => {
    for (const [name, closed, command] of [
      [
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "kernel.apparmor_restrict_unprivileged_userns=0",
      ],
      ["kernel/unprivileged_userns_clone", "0", "kernel.unprivileged_userns_clone=1"],
      ["user/max_user_namespaces", "0", "user.max_user_namespaces=15000"],
    ] as const) {
      const says = remedyFor(denied, machine({ [name]: closed }));
      assert.ok(says.startsWith(`Run: sudo sysctl -w ${command} `), says);
    }
    assert.doesNotMatch(remedyFor(denied, machine({ "user/max_user_namespaces": "9" })), /sysctl/);
  });

  it("says how to start a container of each kind, or else how to find out more", () => {
    const inside = (container: MachineFacts["container"]): string =>
      remedyFor(denied, machine({}, { container }));
    assert.match(inside("docker"), /--security-opt systempaths=unconfined/);
    assert.match(inside("podman"), /--security-opt unmask=ALL/);
    assert.match(inside("kubernetes"), /`hostUsers: false`.*`procMount: Unmasked`/);
    assert.match(remedyFor(denied, machine()), /^Try: bwrap/);
  });

  it("tells what is covered from what is forbidden, and what root lacks", () => {
    const covered = "bwrap: Can't mount proc on /newroot/proc: Operation not permitted";
    assert.match(remedyFor(covered, machine()), /^Something covers parts of \/proc/);
    const noMap = "bwrap: setting up uid map: Operation not permitted";
    assert.match(remedyFor(noMap, machine({}, { isRoot: true })), /as another user than root/);
    assert.match(remedyFor(noMap, machine()), /^Try: bwrap/);
  });
});

describe("thisMachine()", () => {
  it("reads existing settings, and reports missing ones as undefined", () => {
    const { setting } = thisMachine();
    assert.equal(setting("no/such/setting"), undefined);
    if (process.platform === "linux") assert.match(setting("kernel/ostype") ?? "", /^Linux$/);
  });
});
