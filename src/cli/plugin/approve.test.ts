import assert from "node:assert/strict";
import { mkdtempDisposable, realpath, symlink } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";

import type { DeclaredManifest } from "../../plugin/declared-manifest.ts";
import {
  approve,
  type PluginRequest,
  canDoEverything,
  type ConsentValues,
  wantedOf,
} from "./approve.ts";

const WANTS: DeclaredManifest = {
  id: "tools.x",
  needs_tools: ["echo"],
  needs_events: ["build"],
  provides_events: ["journal"],
  provides_storage: ["markdown"],
  provides_tools: ["x"],
  provides_prompts: [],
  permissions: {
    read: ["/etc/motd"],
    write: ["/srv/x"],
    hosts: ["api.example.org", "localhost:5432"],
  },
};

const limits = { state: "ok", says: "in force" } as const;
const NONE = { state: "warn", says: "none: bwrap is not installed" } as const;

/** Standard input of a test is no terminal, so nobody is asked. */
async function ask(plugin: Partial<PluginRequest>, consent: ConsentValues = {}) {
  const wanted = wantedOf({ manifest: WANTS, isScript: true, limits, ...plugin }, consent);
  await approve(consent, (plugin.manifest ?? WANTS).id, wanted);
  return wanted.permissions;
}

describe("approve()", () => {
  it("refuses what nobody has approved, and names all of it, loudest first", async () => {
    const message = [
      "'tools.x' asks for:",
      "  keep the storage 'markdown': others' documents pass through it",
      "  call the tool 'echo'",
      "  read and write /srv/x",
      "  read /etc/motd",
      "  reach api.example.org",
      "  reach localhost:5432",
      "  publish events of the topic 'journal'",
      "  be told of events of the topic 'build'",
      "It was not approved. Look at it, and add --approve if you agree.",
    ].join("\n");
    await assert.rejects(ask({}), { code: "untrusted", message });
  });

  it("takes exactly what was asked for", async () => {
    const { permissions, needs_tools: tools } = WANTS;
    assert.deepEqual(await ask({}, { approve: true }), {
      ...{ tools, ...permissions, namespace: "tools.x" },
      ...{ publish: ["journal"], subscribe: ["build"] },
      provides: { tools: ["x"], prompts: [], storage: ["markdown"] },
    });
  });

  it("asks nothing about a plugin that wants nothing, and gives one that says nothing nothing", async () => {
    const provides = { tools: ["*"], prompts: ["*"] };
    for (const permissions of [{}, undefined]) {
      const manifest = { id: "tools.y", ...(permissions === undefined ? {} : { permissions }) };
      assert.deepEqual(await ask({ manifest }), { namespace: "tools.y", provides });
    }
  });

  it("needs a flag of its own for everything: --approve is not enough", async () => {
    const everything =
      /do everything on this machine that you can do\n(?:.*\n)*Everything, because /;
    const cases: [plugin: Partial<PluginRequest>, why: RegExp][] = [
      [{ manifest: { id: "tools.y" }, isScript: false }, /it declares no permissions/],
      [{ limits: NONE }, /plugins have no sandbox here \(none: bwrap is not installed\)/],
    ];
    for (const [plugin, why] of cases) {
      for (const consent of [{}, { approve: true }]) {
        await assert.rejects(ask(plugin, consent), { code: "untrusted", message: everything });
        await assert.rejects(ask(plugin, consent), why);
        await assert.rejects(ask(plugin, consent), /add --allow-everything if you agree\.$/);
      }
      await assert.rejects(ask(plugin, { approve: true }), /--approve is not enough for this/);
      const { everything: isAll, read, hosts } = await ask(plugin, { "allow-everything": true });
      assert.deepEqual([isAll, read, hosts], [true, undefined, undefined]);
    }
    // An executable that says what it wants is limited to that.
    assert.equal((await ask({ isScript: false }, { approve: true })).everything, undefined);
    // And one that a person trusts is not.
    assert.equal((await ask({}, { "allow-everything": true })).everything, true);
  });

  it("is as loud about programs and about the home folder, whatever link leads there", async () => {
    const wanting = (permissions: NonNullable<DeclaredManifest["permissions"]>) => ({
      manifest: { id: "tools.y", permissions },
    });
    await using home = await mkdtempDisposable(join(tmpdir(), "trunkline-approve-"));
    const link = join(home.path, "data");
    await symlink(dirname(homedir()), link);
    for (const permissions of [
      { run: true },
      { write: [homedir()] },
      { read: ["/"] },
      { write: [join(homedir(), ".bashrc")] },
      { read: [link] },
    ]) {
      await assert.rejects(ask(wanting(permissions), { approve: true }), /add --allow-everything/);
    }
    const path = await realpath(dirname(homedir()));
    await assert.rejects(ask(wanting({ read: [link] })), new RegExp(`  read ${path}\n`));
    assert.equal(
      canDoEverything({ write: ["/nonexistent/data"], hosts: ["*"], tools: ["*"] }),
      false,
    );
  });

  it("refuses hosts that cannot be limited to, and names that lead elsewhere", async () => {
    const wanting = (manifest: DeclaredManifest) => ask({ manifest }, { approve: true });
    await assert.rejects(
      wanting({ id: "tools.y", permissions: { hosts: ["localhost"] } }),
      /'localhost': it is this machine\. Write it as `localhost:PORT`/,
    );
    for (const namespace of ["../tools.z", "a/b", "", ".."]) {
      const manifest = { id: "tools.y", permissions: { namespace } };
      await assert.rejects(wanting(manifest), /^TrunklineError.*Cannot have a plugin/s, namespace);
    }
  });

  it("refuses to ask more than fits a screen", async () => {
    const needs_tools = Array.from({ length: 60 }, (_, number) => `tool${number}`);
    const more = /asks for too much to review: the limit is 50 things of 500 characters/;
    for (const manifest of [
      { id: "tools.y", needs_tools },
      { id: "tools.y", needs_events: ["x".repeat(600)] },
    ]) {
      await assert.rejects(ask({ manifest }, { approve: true }), more);
    }
  });

  it("asks about documents of others", async () => {
    const manifest = { id: "tools.y", permissions: { namespace: "tools.notes" } };
    await assert.rejects(
      ask({ manifest }),
      /\n {2}read and write the documents of 'tools\.notes'\n/,
    );
    const words = /\n {2}read and write the documents that plugins share\n/;
    await assert.rejects(ask({ manifest: { id: "tools.y" }, namespace: "/" }), words);
    await assert.rejects(ask({ manifest: { id: "y", needs_storage: ["markdown"] } }), words);
  });
});
