import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";

import { EVERYTHING, everythingIsMissing, serversLeft } from "../upstream/everything.ts";
import { HouseOfUpstreams } from "../upstream/house-of-upstreams.ts";
import { type Json, RawClient, type RawClientOptions } from "../upstream/raw-client.ts";

const skip = await everythingIsMissing();
const timeout = 120_000;

describe("two everything servers", { skip, timeout }, () => {
  it("are independent: one that is killed every second answers every call once, the other all", async () => {
    await using house = new HouseOfUpstreams({ limits: { firstWait: 50, longestWait: 200 } });
    await house.configure({ shaky: EVERYTHING, steady: EVERYTHING });
    const options: RawClientOptions = { revision: "2025-11-25" };
    await using client = await RawClient.connect(house.door, options);
    const isOver = AbortSignal.timeout(6_000);
    const answers = { shaky: [] as Json[], steady: [] as Json[] };
    let sent = 0;
    const load = async (tool: string, kept: Json[]): Promise<void> => {
      while (!isOver.aborted) {
        const message = `m${++sent}`;
        const answer = await client.callTool(tool, { message });
        assert.ok(
          answer["result"].isError || answer["result"].content[0].text === `Echo: ${message}`,
        );
        kept.push(answer);
        // One that fails at once must not take all the time there is.
        if (answer["result"].isError === true) await sleep(20);
      }
    };
    let kills = 0;
    const killing = (async () => {
      while (!isOver.aborted) {
        await sleep(1_000);
        kills += await killServerOf(house, "shaky");
      }
    })();
    const workers = [1, 2, 3, 4].flatMap(() => [
      load("echo", answers.shaky),
      load("steady_echo", answers.steady),
    ]);
    await Promise.all([...workers, killing]);

    assert.ok(kills >= 4, `killed only ${kills} times`);
    const isGood = (answer: Json): boolean => answer["result"].isError !== true;
    assert.deepEqual(
      answers.steady.filter((answer) => !isGood(answer)),
      [],
    );
    assert.ok(answers.shaky.some(isGood));
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
    const [shaky, steady] = house.upstreams.status();
    assert.ok((shaky?.restarts ?? 0) >= kills - 1);
    assert.equal(steady?.restarts, 0);
  });

  it("leave no process behind", async () => {
    assert.deepEqual(await serversLeft(), []);
  });
});

/** Kills what runs under a name, as the machine might. Returns how many that were. */
async function killServerOf(house: HouseOfUpstreams, name: string): Promise<number> {
  const pid = house.upstreams.status().find((each) => each.name === name)?.pid;
  if (pid === undefined) return 0;
  process.kill(pid, "SIGKILL");
  return 1;
}
