// Long: whole repositories go back and forth.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { MovingRig, prompts, say, SESSION, snapshot } from "../../../../test/support/moving-rig.ts";
import { Journal } from "../../../agent/files/journal.ts";
import { SampleFolder } from "../../../../test/samples/sample-folder.ts";
import { HostKey } from "./host-key.ts";
import { Mover } from "./mover.ts";
import { SessionWorktrees } from "../session-worktrees.ts";
import { notHeld, type SessionError } from "../../session-error.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import { SessionUsage } from "../../../store/session/session-usage.ts";

async function moved(rig: MovingRig): Promise<void> {
  const { code, err } = await rig.moveTo();
  assert.equal(code, 0, err);
}

type Files = { files: Record<string, string> };

describe("a session that moves to a gateway", () => {
  it("takes everything along, and comes back as it was", async () => {
    await using rig = await MovingRig.create();
    const before = snapshot(rig.top) as Files;
    const { code, err, out } = await rig.moveTo();
    assert.equal(code, 0, err);
    assert.match(err, /These stay here:\n.*running processes/);
    assert.match(err, /node_modules\/ \(ignored by git\)/);
    assert.match(err, /\.env \(ignored by git\)/);
    assert.match(out, /^Moved 11111111-.* It works in .*worktrees/);
    const { ".env": _, "node_modules/x/index.js": __, ...files } = before.files;
    assert.deepEqual(snapshot(rig.there), { ...before, files }, "all but what was listed");
    const { data } = rig.server.home;
    assert.deepEqual(await prompts(data), [`Change ${join(rig.top, "a.txt")}`]);
    {
      await using log = await SessionLog.open(data);
      const used = await new SessionUsage(log.database).ofSession(SESSION);
      assert.equal(used.tokens, 10);
      const record = await log.find(SESSION);
      assert.deepEqual(record?.notes.chosen, { modeId: "auto-accept", modelId: "m" });
    }
    const undo = await new Journal(data, SESSION).last();
    assert.deepEqual(
      undo?.changes.map(({ path }) => path),
      [join(rig.there, "a.txt")],
    );
    // Only one side has it, and the other one says where it is.
    {
      await using log = await SessionLog.open(rig.laptop.home.data);
      const error = await log.hold(SESSION).catch((failure: unknown) => notHeld(SESSION, failure));
      const movedTo = { url: rig.url, session: SESSION, epoch: 1 };
      assert.deepEqual((error as SessionError).data, { movedTo });
    }
    await assert.rejects(say(rig.laptop.home.data, "no"), /has moved to ws:/);
    const listed = await rig.laptop.json<{ sessions: { movedTo: string }[] }>("session", "list");
    assert.equal(listed.sessions[0]?.movedTo, rig.url);
    await say(data, "There");
    // A terminal follows it, and its agent works there.
    const asked = await rig.laptop.run("chat", "/diff", "--session", SESSION);
    assert.equal(asked.code, 0, asked.err);
    assert.match(asked.out, /MM both\.txt/);
    const back = await rig.moveHere();
    assert.equal(back.code, 0, back.err);
    assert.deepEqual(snapshot(rig.top), before);
    assert.deepEqual((await prompts(rig.laptop.home.data)).slice(-2), ["There", "/diff"]);
    await assert.rejects(say(data, "no"), /has moved to the machine of/);
    await say(rig.laptop.home.data, "Here");
    // Whoever opens sessions puts away what killed processes have left, and this is none of that.
    for (const { home } of [rig.laptop, rig.server]) {
      await using log = await SessionLog.open(home.data);
      const { config } = await home.load();
      assert.deepEqual(await new SessionWorktrees(config).strays(log), []);
    }
  });
});

describe("work that comes back to where something else has changed", () => {
  const away = async (): Promise<MovingRig> => {
    const rig = await MovingRig.create();
    const { code, err } = await rig.moveTo();
    assert.equal(code, 0, err);
    return rig;
  };

  it("is merged with it by git, and nothing is overwritten", async () => {
    await using rig = await away();
    await writeFile(join(rig.there, "a.txt"), "two\nthere\n");
    await writeFile(join(rig.there, "new there.txt"), "new\n");
    execFileSync("git", ["rm", "-qf", "--cached", "both.txt"], { cwd: rig.there });
    await rig.write("run.sh", "#!/bin/sh\n# here\n");
    await rig.write("new here.txt", "new\n");
    const { code, err, out } = await rig.moveHere();
    assert.equal(code, 0, err);
    assert.match(out, /What changed here meanwhile was merged/);
    const { files, status } = snapshot(rig.top) as Files & { status: string };
    const text = (name: string) => Buffer.from(files[name] ?? "", "base64").toString();
    assert.equal(text("a.txt"), "two\nthere\n");
    assert.equal(text("new there.txt"), "new\n");
    assert.equal(text("new here.txt"), "new\n");
    assert.match(files["run.sh"] ?? "", new RegExp(btoa("#!/bin/sh\n# here\n")));
    assert.match(status, /^D {2}both\.txt/m, "the index is that of the session");
    assert.match(status, /^\?\? "new here\.txt"/m);
  });

  for (const [what, change] of [
    ["both sides have changed a.txt", (rig: MovingRig) => rig.write("a.txt", "here\n")],
    ["there are other commits", (rig: MovingRig) => rig.laptop.git("commit", "-qam", "Here")],
    ["another branch is checked out", (rig: MovingRig) => rig.laptop.git("switch", "-qc", "x")],
    ["other files are staged", (rig: MovingRig) => rig.laptop.git("add", "mixed.txt")],
  ] as const) {
    it(`gets a work tree beside where ${what}`, async () => {
      await using rig = await away();
      await writeFile(join(rig.there, "a.txt"), "there\n");
      const there = snapshot(rig.there) as Files & { branch: string; status: string };
      await change(rig);
      const here = snapshot(rig.top);
      const { code, err, out } = await rig.moveHere();
      assert.equal(code, 0, err);
      assert.match(out, new RegExp(`could not be put back: ${what}. Nothing was changed`));
      assert.deepEqual(snapshot(rig.top), here);
      const tree = /The session goes on in '([^']+)'/.exec(out)?.[1] ?? "";
      const beside = { ...there, branch: "trunkline/returned-11111111" };
      assert.deepEqual(snapshot(tree), beside);
      // It moves from there as from any other place.
      const again = await rig.moveTo();
      assert.equal(again.code, 0, again.err);
      assert.deepEqual(snapshot(rig.there), beside);
    });
  }
});

describe("work without a commit", () => {
  it("comes back, and gets a work tree beside where both sides have changed it", async () => {
    await using rig = await MovingRig.create();
    await rm(join(rig.top, ".git"), { recursive: true });
    rig.laptop.git("init", "-q");
    await moved(rig);
    await writeFile(join(rig.there, "a.txt"), "there\n");
    await rig.write("a.txt", "here\n");
    const { code, err, out } = await rig.moveHere();
    assert.equal(code, 0, err);
    assert.match(out, /could not be put back: both sides have changed a\.txt/);
    const tree = /The session goes on in '([^']+)'/.exec(out)?.[1] ?? "";
    const say = (...args: string[]) => execFileSync("git", args, { cwd: tree, encoding: "utf8" });
    assert.match(say("status"), /No commits yet/);
    assert.equal(await readFile(join(tree, "a.txt"), "utf8"), "there\n");
    assert.equal(await readFile(join(rig.top, "a.txt"), "utf8"), "here\n");
  });
});

describe("a move", () => {
  it("is byte for byte also where a kill has ended the beginning of its repository", async () => {
    await using rig = await MovingRig.create();
    const before = snapshot(rig.top) as Files;
    const shadow = join(rig.laptop.home.data, "moves", `${SESSION}.git`);
    execFileSync("git", ["init", "-q", "--bare", "--template=", shadow]);
    await moved(rig);
    assert.equal((snapshot(rig.there) as Files).files["mixed.txt"], before.files["mixed.txt"]);
  });

  it("takes a session along that has begun in a folder behind a link, and back", async () => {
    await using rig = await MovingRig.create();
    const before = snapshot(rig.top);
    const link = join(rig.laptop.home.path, "behind");
    await symlink(rig.top, link);
    {
      await using log = await SessionLog.open(rig.laptop.home.data);
      await log.database.run`UPDATE session SET cwd = ${link}`;
    }
    await moved(rig);
    const { code, err } = await rig.moveHere();
    assert.equal(code, 0, err);
    assert.deepEqual(snapshot(rig.top), before);
  });

  it("says what stays to several at once", async () => {
    await using rig = await MovingRig.create(1);
    await using mover = await Mover.open((await rig.laptop.home.load()).config, rig.laptop.env);
    const record = await mover.record(SESSION);
    const asked = Array.from({ length: 30 }, async (_, at) => {
      // Some end while others begin.
      await new Promise((resolve) => setTimeout(resolve, 5 * at));
      return await mover.parcels.staysHere(record, false);
    });
    for (const stays of await Promise.all(asked))
      assert.ok(stays.includes(".env (ignored by git)"));
  });
});

describe("a move that cannot be done", () => {
  it("does not wait for a pipe in the place of a list of files that go along", async () => {
    await using rig = await MovingRig.create();
    execFileSync("mkfifo", [".worktreeinclude"], { cwd: rig.top });
    const { code, err } = await rig.moveTo();
    assert.equal(code, 1);
    assert.match(err, /Cannot read '.*\.worktreeinclude': it is not a regular file/);
  });

  it("leaves the session here where the gateway is gone, and is repeated when it is back", async () => {
    await using rig = await MovingRig.create();
    const { TRUNKLINE_TOKEN: token = "" } = rig.laptop.env;
    rig.laptop.env.TRUNKLINE_TOKEN = "wrong";
    assert.match(
      (await rig.moveTo()).err,
      /Give a token of that server; commands read TRUNKLINE_TOK/,
    );
    rig.laptop.env.TRUNKLINE_TOKEN = token;
    await rig.stop();
    const { code, err } = await rig.moveTo();
    assert.equal(code, 1);
    assert.match(err, /Cannot move the session with http:\/\/127\.0\.0\.1/);
    await say(rig.laptop.home.data, "Still here");
    await rig.serve();
    await moved(rig);
    assert.equal((await prompts(rig.server.home.data)).at(-1), "Still here");
  });

  it("refuses a gateway with another key than before, unless a person says that it is right", async () => {
    await using rig = await MovingRig.create();
    await moved(rig);
    assert.equal((await rig.moveHere()).code, 0);
    await rig.stop();
    await rm(join(rig.server.home.data, "host-key.pem"));
    await rig.serve();
    const { code, err } = await rig.moveTo();
    assert.equal(code, 1);
    assert.match(err, /another host key than when a session was first moved.*--new-key/);
    await say(rig.laptop.home.data, "Still here");
    assert.equal((await rig.moveTo("--new-key")).code, 0);
  });

  it("refuses another machine that has got hold of the token", async () => {
    await using rig = await MovingRig.create();
    await moved(rig);
    await rm(join(rig.laptop.home.data, "host-key.pem"));
    const { code, err } = await rig.moveHere();
    assert.equal(code, 1);
    assert.match(err, /another host key.*Each machine needs a token of its own/);
  });

  it("says why work that git has not finished, and a folder without git, do not move", async () => {
    await using rig = await MovingRig.create();
    await writeFile(join(rig.top, ".git/MERGE_HEAD"), "");
    assert.match((await rig.moveTo()).err, /a merge or a rebase is in progress/);
    await say(rig.laptop.home.data, "Still here");
    await rm(join(rig.top, ".git"), { recursive: true });
    assert.match((await rig.moveTo()).err, /is in no git repository.*git init/);
    await say(rig.laptop.home.data, "Still here");
  });
});

describe("a session that has arrived", () => {
  it("runs only with a grant of the machine that it comes from", async () => {
    await using rig = await MovingRig.create();
    const { laptop, server } = rig;
    const open = async ({ home, env }: typeof laptop) =>
      Mover.open((await home.load()).config, env);
    await using from = await open(laptop);
    await using to = await open(server);
    await using other = await HostKeyOf.stranger();
    const move = crypto.randomUUID();
    const wish = { move, to: "there", key: to.key.public, have: "", isDriven: false };
    const { epoch, digest } = await from.leave(await from.record(SESSION), wish);
    const coming = { session: SESSION, move, epoch, key: from.key.public, agent: "trunkline" };
    await to.expect({ ...coming, owner: "", isTrusted: true });
    await copyFile(from.bundle(SESSION, "out"), to.bundle(SESSION, "in"));
    assert.equal(await to.check(SESSION, move), digest);
    const terms = [SESSION, move, epoch, digest, to.key.public] as const;
    for (const grant of [
      "",
      other.key.grant(terms),
      from.key.grant([SESSION, move, epoch, digest, other.key.public]),
      from.key.grant([SESSION, move, epoch + 1, digest, to.key.public]),
    ]) {
      await assert.rejects(
        to.activate(SESSION, move, grant),
        /has not signed that it may run here/,
      );
      assert.equal(await to.log.find(SESSION), undefined);
    }
    await assert.rejects(to.activate(SESSION, move, "", "token x"), /was given up/);
    // The decision can be asked for again, and so can what follows from it.
    const grant = await from.decide(SESSION, move, digest);
    assert.equal(await from.decide(SESSION, move, digest), grant);
    await Promise.all([1, 2, 3].map(() => to.activate(SESSION, move, grant)));
    const work = join(rig.there, "a.txt");
    await writeFile(work, "what it does next\n");
    await to.activate(SESSION, move, grant);
    assert.equal(await readFile(work, "utf8"), "what it does next\n");
    assert.equal((await prompts(server.home.data)).length, 1);
    await assert.rejects(
      to.expect({ ...coming, move: crypto.randomUUID(), ...MINE }),
      /here already/,
    );
    await assert.rejects(from.decide(SESSION, crypto.randomUUID(), digest), /was given up/);
  });

  it("is not taken back from another machine than the one that it went to, or in an old state", async () => {
    await using rig = await MovingRig.create();
    await moved(rig);
    await using stranger = await HostKeyOf.stranger();
    await using mover = await Mover.open((await rig.laptop.home.load()).config, rig.laptop.env);
    const coming = { session: SESSION, move: crypto.randomUUID(), agent: "trunkline", ...MINE };
    const { facts, epoch } = (await mover.moves.find(SESSION, "out")) ?? { facts: {}, epoch: 0 };
    const by = (key: string, at: number) => mover.expect({ ...coming, key, epoch: at });
    await assert.rejects(by(stranger.key.public, epoch + 1), /comes from another machine/);
    const { key } = facts as { key: string };
    await assert.rejects(by(key, epoch), /older than what was here last/);
    await by(key, epoch + 1);
    // It still cannot run.
    await assert.rejects(say(rig.laptop.home.data, "no"), /has moved to ws:/);
  });
});

describe("what is to come", () => {
  it("is of one principal, bounded, and leaves nothing when it is given up", async () => {
    await using rig = await MovingRig.create(1);
    const { config } = await rig.server.home.load();
    await using mover = await Mover.open(config, rig.server.env);
    const moves = join(config.data, "moves");
    const come = async (session: string, owner = "bob", epoch = 1): Promise<void> => {
      const coming = { session, move: crypto.randomUUID(), epoch, key: "k", agent: "trunkline" };
      await mover.expect({ ...coming, owner, isTrusted: true });
      await mkdir(mover.parcels.shadowOf(session));
      await writeFile(mover.bundle(session, "in"), "x");
    };
    for (const epoch of [NaN, 1.5, 0, -1, 2e9]) {
      await assert.rejects(come("a", "bob", epoch), /the number of its move is none/);
    }
    await assert.rejects(come("../../x"), /not the id of a session/);
    await come("a");
    await assert.rejects(come("a", "eve"), /comes from somebody else/);
    await come("e", "eve");
    for (const session of ["b", "c", "d", "f"]) await come(session);
    assert.deepEqual(
      (await mover.moves.coming("bob")).map(({ session }) => session),
      ["b", "c", "d", "f"],
    );
    const left = (await readdir(moves)).filter((name) => name.startsWith("a."));
    assert.deepEqual(left, []);
    assert.equal((await mover.moves.coming("eve")).length, 1);
  });

  it("gives way to what somebody else announces, if it has not come for ten minutes", async (t) => {
    await using rig = await MovingRig.create(1);
    await using mover = await Mover.open((await rig.server.home.load()).config, rig.server.env);
    const come = async (owner: string): Promise<void> => {
      const coming = { session: SESSION, move: crypto.randomUUID(), epoch: 1, key: "k" };
      await mover.expect({ ...coming, agent: "trunkline", owner, isTrusted: true });
    };
    t.mock.timers.enable({ apis: ["Date"], now: 1_700_000_000_000 });
    await come("eve");
    t.mock.timers.tick(9 * 60_000);
    // Announcing it again and again does not keep it.
    await come("eve");
    await assert.rejects(come("bob"), /comes from somebody else/);
    t.mock.timers.tick(2 * 60_000);
    await come("bob");
    await assert.rejects(come("eve"), /comes from somebody else/);
    assert.deepEqual(await mover.moves.coming("eve"), []);
  });
});

const MINE = { owner: "", isTrusted: true };

class HostKeyOf {
  readonly key: HostKey;
  readonly #folder: SampleFolder;

  private constructor(key: HostKey, folder: SampleFolder) {
    this.key = key;
    this.#folder = folder;
  }

  static async stranger(): Promise<HostKeyOf> {
    const folder = await SampleFolder.create();
    await mkdir(folder.path, { recursive: true });
    return new HostKeyOf(await HostKey.open(folder.path), folder);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#folder[Symbol.asyncDispose]();
  }
}
