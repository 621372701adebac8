// Long: it starts programs of their own.
import assert from "node:assert/strict";
import { copyFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { Mover } from "../../src/session/open/move/mover.ts";
import { AcpEditor, type Place } from "../support/acp-editor.ts";
import { MovingRig, prompts, say, SESSION } from "../support/moving-rig.ts";
import { Program } from "../support/program.ts";

const AGENT = join(import.meta.dirname, "../support/acp-agent.mjs");
const agents = { scripted: { command: process.execPath, args: [AGENT, "--loads"] } };

/** An editor at the old place, which knows nothing of moves and has no token. */
function editorOf(rig: MovingRig): AcpEditor {
  const { path } = rig.laptop.home;
  const place = { path, home: path, folder: rig.top } as Place;
  const { TRUNKLINE_TOKEN: _, ...env } = rig.laptop.env;
  return new AcpEditor(place, { config: { agents }, env: env as never, isShared: true });
}

async function load(editor: AcpEditor, rig: MovingRig): Promise<void> {
  await editor.hello();
  await editor.ask("session/load", { sessionId: SESSION, cwd: rig.top, mcpServers: [] });
}

async function moved(rig: MovingRig, way: "there" | "here"): Promise<void> {
  const { code, err } = await (way === "there" ? rig.moveTo() : rig.moveHere());
  assert.equal(code, 0, err);
}

describe("an editor at the place that a session has left", { timeout: 300_000 }, () => {
  it("goes on in it where it is, there and here, and sees what others say", async () => {
    await using rig = await MovingRig.create(undefined, { agents });
    await using editor = editorOf(rig);
    await load(editor, rig);
    await editor.prompt(SESSION, "say one");
    const said: string[] = ["say one"];
    for (const round of [1, 2]) {
      await moved(rig, "there");
      const since = editor.messages.length;
      await editor.prompt(SESSION, `say there ${round}`);
      assert.match(editor.text(since), new RegExp(`there ${round}$`));
      const other = await rig.laptop.run("chat", `say other ${round}`, "--session", SESSION);
      assert.equal(other.code, 0, other.err);
      await editor.update(({ content }) => content?.text === `other ${round}`);
      await moved(rig, "here");
      await editor.prompt(SESSION, `say here ${round}`);
      said.push(`say there ${round}`, `say other ${round}`, `say here ${round}`);
      const all = await prompts(rig.laptop.home.data);
      assert.deepEqual(all.slice(1), said, "each once, in one order");
    }
  });

  it("loads it there, and is told where it is once the gateway cannot be reached", async () => {
    await using rig = await MovingRig.create(undefined, { agents });
    await moved(rig, "there");
    {
      await using editor = editorOf(rig);
      await load(editor, rig);
      assert.match(JSON.stringify(editor.updates("user_message_chunk")), /Change /);
      await editor.prompt(SESSION, "say hello");
      assert.match(editor.text(), /hello$/);
    }
    await rig.stop();
    await using editor = editorOf(rig);
    const movedTo = { url: rig.url, session: SESSION, epoch: 1 };
    await assert.rejects(load(editor, rig), (error: { code?: number; data?: object }) => {
      assert.equal(error.code, -31901);
      assert.deepEqual((error.data as { movedTo?: object }).movedTo, movedTo);
      return true;
    });
  });
});

describe("a move that was killed", { timeout: 300_000 }, () => {
  /** Does a part of a move as a program that is killed does, and starts the machine's gateway. */
  async function goesOn(
    rig: MovingRig,
    part: (mover: Mover) => Promise<void>,
    isDone: () => Promise<boolean>,
  ): Promise<void> {
    const { home, env } = rig.laptop;
    {
      await using mover = await Mover.open((await home.load()).config, env);
      await mover.tokens.keep(SESSION, env.TRUNKLINE_TOKEN);
      await part(mover);
    }
    const { TRUNKLINE_TOKEN: _, ...others } = env;
    const options = { env: others as never, cwd: rig.top };
    await using gateway = new Program(["serve", "--port", "0"], options);
    while (!(await isDone())) await delay(50);
    gateway.child.kill();
    await gateway.exit;
  }

  const isWritable = (data: string) => async (): Promise<boolean> =>
    await say(data, "Here").then(
      () => true,
      () => false,
    );

  async function offered(rig: MovingRig, mover: Mover, move: string): Promise<string> {
    const headers = { authorization: `Bearer ${rig.laptop.env.TRUNKLINE_TOKEN ?? ""}` };
    const body = JSON.stringify({ session: SESSION, agent: "trunkline", key: mover.key.public });
    const url = `${rig.url.replace(/^ws/, "http").replace(/acp$/, "moves")}/${move}/offer`;
    const response = await fetch(url, { method: "POST", headers, body });
    return ((await response.json()) as { key: string }).key;
  }

  for (const isDecided of [false, true]) {
    const when = isDecided ? "after" : "before";
    it(`goes on by itself when the source starts again, ${when} its decision`, async () => {
      await using rig = await MovingRig.create();
      await goesOn(
        rig,
        async (mover) => {
          const move = crypto.randomUUID();
          const key = await offered(rig, mover, move);
          const wish = { move, to: rig.url, key, have: "", isDriven: false };
          const { epoch, digest } = await mover.leave(await mover.record(SESSION), wish);
          if (!isDecided) return;
          const { home, env } = rig.server;
          await using there = await Mover.open((await home.load()).config, env);
          const coming = { session: SESSION, move, epoch, key: mover.key.public };
          await there.expect({ ...coming, agent: "trunkline", owner: "", isTrusted: true });
          await copyFile(mover.bundle(SESSION, "out"), there.bundle(SESSION, "in"));
          await there.check(SESSION, move);
          await mover.decide(SESSION, move, digest);
        },
        isWritable(rig.server.home.data),
      );
      await assert.rejects(say(rig.laptop.home.data, "no"), /has moved to ws:/);
      assert.equal((await prompts(rig.server.home.data)).at(-1), "Here");
    });
  }

  it("comes here by itself when this side starts again", async () => {
    await using rig = await MovingRig.create();
    await moved(rig, "there");
    const { home, env } = rig.server;
    await goesOn(
      rig,
      async (mover) => {
        const move = crypto.randomUUID();
        const out = await mover.moves.find(SESSION, "out");
        await using there = await Mover.open((await home.load()).config, env);
        const to = { move, to: "the machine", key: mover.key.public, have: "", isDriven: true };
        const { epoch } = await there.leave(await there.record(SESSION), to);
        const from = { key: String(out?.facts.key), owner: "", isTrusted: false, from: rig.url };
        await mover.expect({ session: SESSION, move, epoch, agent: "trunkline", ...from });
        await copyFile(there.bundle(SESSION, "out"), mover.bundle(SESSION, "in"));
        await mover.check(SESSION, move);
      },
      isWritable(rig.laptop.home.data),
    );
    await assert.rejects(say(home.data, "no"), /has moved to /);
  });

  it("stays where somebody has opened the session meanwhile", async () => {
    await using rig = await MovingRig.create();
    let count = 0;
    await goesOn(
      rig,
      async (mover) => {
        const move = crypto.randomUUID();
        const key = await offered(rig, mover, move);
        const wish = { move, to: rig.url, key, have: "", isDriven: false };
        await mover.leave(await mover.record(SESSION), wish);
        await mover[Symbol.asyncDispose]();
        await say(rig.laptop.home.data, "Mine");
      },
      async () => count++ > 20,
    );
    await say(rig.laptop.home.data, "Still here");
  });
});
