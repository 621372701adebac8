import assert from "node:assert/strict";
import { mkdirSync, mkdtempDisposableSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import type { Workspace } from "../workspace/workspace.ts";
import { probeSandbox } from "../../sandbox/probe.ts";
import { setupPlaces } from "./open-runs.ts";

using probed = mkdtempDisposableSync(join(tmpdir(), "trunkline-probe-"));
const { parts, findings } = await probeSandbox(probed.path);
const skip = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

/** A place for set-up, whose workspace has no git. */
function placeIn(folder: string, isConfined: boolean) {
  const [tree, home] = [join(folder, "tree"), join(folder, "home")];
  for (const each of [tree, home]) mkdirSync(each);
  return setupPlaces(
    isConfined ? parts : undefined,
    [],
  )({
    name: "setup",
    url: "https://git.example/team/app",
    workspace: { folder, tree } as Workspace,
    folder: "/workspaces/app",
    owner: undefined,
    home,
    env: { TRUNKLINE_MARK: "of the repository" },
    secrets: { TOKEN: "0123456789" },
    objects: [tree],
    allowHosts: [],
    refused: () => {},
  });
}

describe("setupPlaces()", () => {
  it(
    "gives variables to commands, and not to the programs that create the sandbox",
    { skip },
    async () => {
      using folder = mkdtempDisposableSync(join(tmpdir(), "place-"));
      await using place = await placeIn(folder.path, true);
      const script = 'read go; echo "$TRUNKLINE_MARK $TOKEN $HOME $(pwd)"; echo error >&2';
      const child = await place.start(["sh", "-c", script]);
      const outside = readFileSync(`/proc/${child.pid}/environ`, "utf8");
      assert.ok(!outside.includes("TRUNKLINE_MARK="), outside);
      const commandLine = readFileSync(`/proc/${child.pid}/cmdline`, "utf8");
      assert.ok(!commandLine.includes("0123456789"));
      child.stdin.end("go\n");
      const said = await text(child.stdout);
      assert.equal(said, "of the repository 0123456789 /home/agent /workspaces/app\nerror\n");
      await child.gone;
    },
  );

  it("does the same without a sandbox", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "place-"));
    await using place = await placeIn(folder.path, false);
    const child = await place.start(["sh", "-c", 'echo "$TRUNKLINE_MARK $TOKEN $(pwd)"']);
    const said = await text(child.stdout);
    assert.equal(said, `of the repository 0123456789 ${join(folder.path, "tree")}\n`);
    await child.gone;
  });
});
