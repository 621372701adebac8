// Long: it starts sandboxes and programs in them.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, it } from "node:test";

import { probeSandbox } from "../../src/sandbox/probe.ts";
import { SessionLog } from "../../src/store/session/session-log.ts";
import { freePort } from "../support/free-port.ts";
import { MovingRig, prompts, say, SESSION, snapshot } from "../support/moving-rig.ts";
import { readyOf } from "../support/owner-access.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const { parts, findings } = await probeSandbox(join(import.meta.dirname, "../../.cache/probe"));
const skip = parts === undefined && (findings[0]?.detail ?? "No sandbox can be had here.");

type Files = { files: object };

async function moved(rig: MovingRig): Promise<void> {
  const { code, err } = await rig.moveTo();
  assert.equal(code, 0, err);
}

/** What a session answers in its new place, asked from the old one. */
async function asked(rig: MovingRig, prompt: string): Promise<string> {
  const { code, out, err } = await rig.laptop.run("chat", prompt, "--session", SESSION);
  assert.equal(code, 0, err);
  return out;
}

describe("a session that has moved to a gateway", { skip, timeout: 300_000 }, () => {
  it("works in the sandbox of remote runs, and what it did there comes back", async () => {
    const agents = { scripted: { command: process.execPath, args: [AGENT] } };
    await using rig = await MovingRig.create(undefined, { sandbox: "on", agents });
    const secret = join(rig.server.home.path, "secret");
    writeFileSync(secret, "only the server's");
    await moved(rig);
    const shell = (line: string): Promise<string> => asked(rig, `run w|sh|-c|${line}`);
    assert.match(await shell("echo $HOME; cat a.txt"), /\/home\/agent\\ntwo/);
    assert.match(await shell(`cat ${secret}`), /No such file/);
    assert.doesNotMatch(await shell(`ls -a ${rig.server.home.data}`), /trunkline\.db|host-key/);
    assert.doesNotMatch(await shell("cat /proc/net/dev"), /eth|wlan|enp/);
    const commit = "git -c user.name=A -c user.email=a@example.org commit -qam There";
    assert.match(
      await shell(`echo there > there.txt && ${commit} && git log -1 --format=%s`),
      /There/,
    );
    const { files: _, ...there } = snapshot(rig.there) as Files;
    const { code, err } = await rig.moveHere();
    assert.equal(code, 0, err);
    assert.equal(readFileSync(join(rig.top, "there.txt"), "utf8"), "there\n");
    const { files, ...here } = snapshot(rig.top) as Files;
    assert.deepEqual(here, there);
    assert.ok(Object.keys(files).includes("node_modules/x/index.js"));
    await prompts(rig.laptop.home.data);
  });

  it("goes on where it was with the built-in agent, which can undo what it did before", async () => {
    const port = await freePort();
    await using rig = await MovingRig.create(port, { sandbox: "on" });
    const { env, home } = rig.server;
    // It is started again as a program of its own.
    const args = ["serve", "--port", String(port), "--json"];
    await using gateway = new Program(args, { env: env as never, cwd: home.path });
    await gateway.until(({ lines }) => lines.length > 0);
    const { tokenFile } = readyOf(JSON.parse(gateway.lines[0] ?? "{}"));
    rig.laptop.env.TRUNKLINE_TOKEN = readFileSync(tokenFile, "utf8").trim();
    await moved(rig);
    assert.match(await asked(rig, "/diff"), /MM both\.txt/);
    assert.match(await asked(rig, "/undo"), /a\.txt/);
    assert.equal(readFileSync(join(rig.there, "a.txt"), "utf8"), "one\n");
    assert.match(await asked(rig, "/redo"), /a\.txt/);
    for (const round of [1, 2]) {
      const { code, err } = await rig.moveHere();
      assert.equal(code, 0, err);
      await say(rig.laptop.home.data, `Here ${round}`);
      await moved(rig);
      assert.match(await asked(rig, "/diff"), /MM both\.txt/);
    }
    const said = await prompts(rig.server.home.data);
    gateway.child.kill();
    await gateway.exit;
    assert.deepEqual(said.slice(1), [
      "/diff",
      "/undo",
      "/redo",
      "Here 1",
      "/diff",
      "Here 2",
      "/diff",
    ]);
  });

  it("takes nothing of another repository along, whatever its agent has put into .git", async () => {
    const agents = { scripted: { command: process.execPath, args: [AGENT] } };
    await using rig = await MovingRig.create(undefined, { sandbox: "on", agents });
    await moved(rig);
    const other = join(rig.server.home.path, "other");
    execFileSync("git", ["init", "-q", other]);
    const git = join(rig.there, ".git");
    const plants: Readonly<Record<string, [() => void, () => void]>> = {
      alternates: [
        () => writeFileSync(join(git, "objects/info/alternates"), `${other}/.git/objects\n`),
        () => rmSync(join(git, "objects/info/alternates")),
      ],
      "a link": [
        () => symlinkSync(join(other, ".git/refs"), join(git, "refs/heads/x")),
        () => rmSync(join(git, "refs/heads/x")),
      ],
      commondir: [
        () => writeFileSync(join(git, "commondir"), join(other, ".git")),
        () => rmSync(join(git, "commondir")),
      ],
      "no folder": [
        () => {
          execFileSync("mv", [git, `${rig.there}.kept`]);
          writeFileSync(git, `gitdir: ${other}/.git\n`);
        },
        () => {
          rmSync(git);
          execFileSync("mv", [`${rig.there}.kept`, git]);
        },
      ],
    };
    mkdirSync(join(git, "objects/info"), { recursive: true });
    for (const [what, [plant, remove]] of Object.entries(plants)) {
      plant();
      const { code, err } = await rig.moveHere();
      assert.equal(code, 1, what);
      assert.match(err, /leads to another repository/, what);
      remove();
    }
    // It is whole where it was.
    await say(rig.server.home.data, "Still there");
    assert.equal((await rig.moveHere()).code, 0);
  });

  it("takes the agent's own file of the session along, and none that its agent has put there", async () => {
    const args = [AGENT, "--loads", "--claude"];
    const agents = { claude: { command: process.execPath, args } };
    await using rig = await MovingRig.create(undefined, { sandbox: "on", agents });
    const id = "0f0f0f0f-1111-4222-8333-444444444444";
    const put = (folder: string, text: string): void => {
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, `${id}.jsonl`), text);
    };
    put(join(rig.laptop.home.path, ".claude/projects/-x"), "mine\n");
    put(join(rig.server.home.path, ".claude/projects/-x"), "the server's\n");
    {
      await using log = await SessionLog.open(rig.laptop.home.data);
      const memory = JSON.stringify({ memory: { sessionId: id } });
      await log.database.run`UPDATE session SET notes = json_patch(notes, ${memory})`;
    }
    await moved(rig);
    const home = join(rig.server.home.data, "worktrees", SESSION, "home");
    const path = join(home, ".claude/projects", rig.there.replaceAll(/[^A-Za-z0-9]/g, "-"));
    assert.equal(readFileSync(join(path, `${id}.jsonl`), "utf8"), "mine\n");
    rmSync(join(home, ".claude"), { recursive: true });
    symlinkSync(join(rig.server.home.path, ".claude"), join(home, ".claude"));
    const { code, err } = await rig.moveHere();
    assert.equal(code, 0, err);
    const own = join(rig.laptop.home.path, ".claude/projects/-x", `${id}.jsonl`);
    assert.equal(readFileSync(own, "utf8"), "mine\n");
    const { status } = spawnSync("grep", ["-r", "the server's", rig.laptop.home.path]);
    assert.equal(status, 1, "nothing of it is anywhere");
  });
});

describe("a gateway that can have no sandbox", () => {
  it(
    "refuses a session before it leaves",
    { skip: skip === false && "There is one here." },
    async () => {
      await using rig = await MovingRig.create(undefined, { sandbox: "on" });
      const { code, err } = await rig.moveTo();
      assert.equal(code, 1);
      assert.match(err, /Cannot run agents in a sandbox/);
      await say(rig.laptop.home.data, "Still here");
    },
  );
});
