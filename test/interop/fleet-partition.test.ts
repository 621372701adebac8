import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { promptOf } from "../support/acp-socket.ts";
import { FleetRig } from "../support/fleet-rig.ts";
import { noNats } from "../support/nats-server.ts";
import type { ServedGateway } from "../support/served-gateway.ts";
import { isWithin, noNetworks, runWithin, SplitNetwork } from "../support/split-network.ts";
import { until } from "../support/until.ts";

/** Whether a gateway can be used, in the words of its page. */
async function readiness({ ready }: ServedGateway): Promise<readonly [number, string]> {
  const response = await fetch(new URL("/readyz", ready.acp.replace("ws", "http")));
  return [response.status, await response.text()];
}

async function isReady(gateway: ServedGateway): Promise<boolean> {
  return (await readiness(gateway))[0] === 200;
}

const REFUSED = /NATS does not answer|no connection to NATS|have no majority|interrupted/;

const skip = noNats || noNetworks;

describe("a fleet whose servers of NATS are cut off from each other", { skip }, () => {
  it("runs in a network of its own", { skip: isWithin }, () => {
    const { status, said } = runWithin(import.meta.filename);
    assert.equal(status, 0, said);
    assert.match(said, /goes on with those that have the majority/);
  });

  it(
    "goes on with those that have the majority, whichever that is, and loses nothing",
    { skip: !isWithin },
    async () => {
      const network = new SplitNetwork(3);
      await using rig = await FleetRig.clustered({}, network.places);
      const gateways = [await rig.gateway("g1"), await rig.gateway("g2")] as const;
      await rig.worker("w1");
      for (const gateway of gateways) await until(() => isReady(gateway));
      using client = await rig.client(gateways[0]);
      const place = { cwd: rig.folder, mcpServers: [] };
      const { sessionId } = await client.ask("session/new", place);
      const said: string[] = [];
      let tried = 0;
      // While a server that is cut off has not noticed it, it refuses in words, and the person tries again.
      const say = async (word: string): Promise<void> => {
        for (;;) {
          const text = `${word}-${++tried}.`;
          const { error } = await client.answer(
            "session/prompt",
            promptOf(sessionId, `say ${text}`),
          );
          if (error === undefined) return void said.push(text);
          assert.match(`${error.message}: ${error.data?.details}`, REFUSED);
        }
      };
      await say("whole");

      // Each node is connected to one of the three, which is cut off in one of the rounds.
      for (const at of network.places.keys()) {
        network.cut(at);
        for (const gateway of gateways) await until(() => isReady(gateway));
        await say(`without-${at}`);
        network.mend(at);
        for (const gateway of gateways) await until(() => isReady(gateway));
        await say(`with-${at}`);
      }

      // Nobody has a majority: all run, none can store anything, and they say why.
      for (const at of network.places.keys()) network.cut(at);
      for (const gateway of gateways) {
        await until(async () => {
          const [status, words] = await readiness(gateway);
          return status === 503 && /the servers of NATS have no majority/.test(words);
        });
      }
      for (const at of network.places.keys()) network.mend(at);
      for (const gateway of gateways) await until(() => isReady(gateway));

      await rig.worker("w2");
      // One of them is cut off, and its data with it, while the worker is killed: another has the session.
      network.cut(2);
      for (const gateway of gateways) await until(() => isReady(gateway));
      await rig.kill("w1");
      await say("taken-over");
      network.mend(2);
      await rig.servers[0]?.kill();
      for (const gateway of gateways) await until(() => isReady(gateway));
      await say("end");

      using other = await rig.client(gateways[1]);
      await other.ask("session/load", { ...place, sessionId });
      const heard = other.text.match(/[a-z]+(?:-[a-z0-9]+)*-\d+\./g) ?? [];
      // What was accepted is there in its order, each once as a prompt and once as the answer.
      const accepted = new Set(said);
      assert.deepEqual(
        heard.filter((word) => accepted.has(word)),
        said.flatMap((word) => [word, word]),
      );
    },
  );
});
