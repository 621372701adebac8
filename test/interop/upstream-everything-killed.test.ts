import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { until } from "../support/until.ts";
import { EVERYTHING, everythingIsMissing, serversLeft } from "../upstream/everything.ts";
import { AppWithUpstreams } from "../upstream/app-with-upstreams.ts";
import { type Json, RawClient, type RawClientOptions } from "../upstream/raw-client.ts";

const skip = await everythingIsMissing();
const timeout = 600_000;
const KILLS = 5;
const isGood = (answer: Json): boolean => answer["result"].isError !== true;

describe("two everything servers", { skip, timeout }, () => {
  it("are independent: one that is killed again and again answers every call once, the other all", async () => {
    await using app = new AppWithUpstreams({ limits: { firstWait: 50, longestWait: 200 } });
    await app.configure({ shaky: EVERYTHING, steady: EVERYTHING });
    const options: RawClientOptions = { revision: "2025-11-25" };
    await using client = await RawClient.connect(app.door, options);
    const over = new AbortController();
    const answers = { shaky: [] as Json[], steady: [] as Json[] };
    let sent = 0;
    const load = async (tool: string, kept: Json[]): Promise<void> => {
      while (!over.signal.aborted) {
        const message = `m${++sent}`;
        const answer = await client.callTool(tool, { message });
        assert.ok(
          answer["result"].isError || answer["result"].content[0].text === `Echo: ${message}`,
        );
        kept.push(answer);
        // What is answered at once must not take all the time there is.
        await sleep(5);
      }
    };
    const goodOnes = (): number => answers.shaky.filter(isGood).length;
    const killing = (async () => {
      for (let kills = 0, last = -1; kills < KILLS; kills++) {
        const pid = await nextPid(app, "shaky", last);
        // It has come up again, and is being called.
        const before = goodOnes();
        await until(() => goodOnes() !== before);
        process.kill(pid, "SIGKILL");
        last = pid;
      }
      over.abort();
    })();
    const workers = [1, 2, 3, 4].flatMap(() => [
      load("echo", answers.shaky),
      load("steady_echo", answers.steady),
    ]);
    await Promise.all([...workers, killing]);

    assert.deepEqual(
      answers.steady.filter((answer) => !isGood(answer)),
      [],
    );
    // What comes late has come by the time of the next answer.
    await client.request("ping");
    const answersTo = Map.groupBy(client.messages, ({ id }) => id as string | undefined);
    answersTo.delete(undefined);
    assert.deepEqual(
      [...answersTo.values()].filter((all) => all.length > 1),
      [],
    );
    const asked = ["initialize", "ping"].length + sent;
    assert.equal(answersTo.size, asked, "a call was not answered");
    const [shaky, steady] = app.upstreams.status();
    assert.ok((shaky?.restarts ?? 0) >= KILLS - 1);
    assert.equal(steady?.restarts, 0);
  });

  it("leave no process behind", async () => {
    assert.deepEqual(await serversLeft(), []);
  });
});

/** Waits for the process that runs under a name after the one that was killed. */
async function nextPid(app: AppWithUpstreams, name: string, last: number): Promise<number> {
  for (;;) {
    const pid = app.upstreams.status().find((each) => each.name === name)?.pid;
    if (pid !== undefined && pid !== last) return pid;
    await sleep(10);
  }
}
