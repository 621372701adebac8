import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";

import { MovingRig, prompts, say, SESSION, snapshot } from "../../../../test/support/moving-rig.ts";
import { Journal } from "../../../agent/files/journal.ts";
import { SessionLog } from "../../../store/session/session-log.ts";
import { SessionUsage } from "../../../store/session/session-usage.ts";

type Files = { files: Record<string, string> };

describe("a session that moves to a gateway", () => {
  it("takes everything along, and comes back as it was", async () => {
    await using rig = await MovingRig.create();
    const before = snapshot(rig.top) as Files;
    const { code, err, out } = await rig.moveTo();
    assert.equal(code, 0, err);
    assert.match(err, /These stay here:\n.*running processes/);
    assert.match(err, /ignored files: node_modules\//);
    assert.match(err, /look like secrets or are large: \.env/);
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
    // Only one side has it.
    await assert.rejects(say(rig.laptop.home.data, "no"), /has moved to ws:/);
    const listed = await rig.laptop.json<{ sessions: { movedTo: string }[] }>("session", "list");
    assert.equal(listed.sessions[0]?.movedTo, rig.url);
    await say(data, "There");
    const back = await rig.moveHere();
    assert.equal(back.code, 0, back.err);
    assert.deepEqual(snapshot(rig.top), before);
    assert.equal((await prompts(rig.laptop.home.data)).at(-1), "There");
    await assert.rejects(say(data, "no"), /has moved to the machine of/);
    await say(rig.laptop.home.data, "Here");
  });
});
