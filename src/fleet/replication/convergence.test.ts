import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";

import { noNats } from "../../../test/support/nats-server.ts";
import { SeededRandom } from "../../../test/support/seeded-random.ts";
import { Fleet, type FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";

const STEPS = 45;
const GRANT = { scopes: ["tools"] } as const;
const ADA = { by: "ada", role: "person" } as const;
const BOT = { by: "bot", role: "agent" } as const;

describe("Stores of three nodes", { skip: noNats }, () => {
  it("are the same after any changes at the same time, with NATS down for some of them", async (test) => {
    const seed = Number(process.env.SEED ?? Date.now() % 1e9);
    test.diagnostic(`SEED=${seed}`);
    const random = new SeededRandom(seed);
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    await using c = await fleet.node("c");
    const nodes = [a, b, c];
    const done: Done = { said: [], created: new Set(), revoked: new Set() };
    for (let step = 0; step < STEPS; step++) {
      if (step === STEPS / 3) await fleet.nats.kill();
      if (step === (2 * STEPS) / 3) await fleet.nats.restart();
      // What another node has just done may be refused here.
      await change(random.pick(nodes), random, step, done).catch(() => {});
      if (random.once(3)) await delay(random.below(150));
    }
    let seen: string[] = [];
    await until(async () => {
      seen = await Promise.all(nodes.map(contentOf));
      const isSame = seen.every((content) => content === seen[0]);
      const shares = nodes.flatMap(({ shared, tokensShared }) => [shared, tokensShared]);
      return isSame && shares.every((share) => share?.status.isUpToDate === true);
    });
    const [content = ""] = seen;
    assert.deepEqual(
      done.said.filter((text) => !content.includes(`"${text}\\"`)),
      [],
      `SEED=${seed}`,
    );
    const ids = new Set(a.tokens.list().map(({ id }) => id));
    assert.deepEqual(ids, done.created.difference(done.revoked), `SEED=${seed}`);
  });
});

/** What was done without an error. */
interface Done {
  readonly said: string[];
  readonly created: Set<string>;
  readonly revoked: Set<string>;
}

async function change(
  node: FleetNode,
  random: SeededRandom,
  step: number,
  done: Done,
): Promise<void> {
  const { tokens, rules, reviews } = node;
  const threads = await reviews.list();
  const thread = threads.length === 0 ? "" : random.pick(threads).id;
  const rule = { workspace: "/w", session: "s", by: "ada", principal: "" };
  switch (random.below(9)) {
    case 0:
    case 1:
      done.created.add((await tokens.create(`t${random.below(5)}`, GRANT)).kept.id);
      break;
    case 2:
      done.revoked.add((await tokens.revoke(random.pick(tokens.list()).id)).id);
      break;
    case 3:
    case 4: {
      const decision = random.once(2) ? "allow" : "reject";
      await rules.add({ ...rule, subject: `s${random.below(3)}`, decision });
      break;
    }
    case 5:
      await rules.revoke(random.pick(await rules.list()).id);
      break;
    case 6:
      await reviews.add({
        repository: { gitDir: "/r/.git", root: "/r" },
        anchor: { path: "a.txt", side: "new" },
        ...{ comment: `c${step}`, severity: "nit", by: "ada", source: "test" },
      });
      break;
    case 7:
      await reviews.reply(thread, { ...(random.once(2) ? ADA : BOT), text: `said ${step}` });
      done.said.push(`said ${step}`);
      break;
    default:
      await (random.once(2) ? reviews.resolve(thread, ADA) : reviews.reopen(thread, ADA));
  }
}

/** All that is shared, as a text. */
async function contentOf({ tokens, rules, reviews }: FleetNode): Promise<string> {
  const threads = await reviews.list();
  const said = threads.map(async ({ id, state }) => {
    // Of the same millisecond, each node shows what it knew first.
    const events = (await reviews.history(id)).map((event) => {
      return JSON.stringify({ ...event, seq: 0 });
    });
    return [id, state, events.toSorted()];
  });
  return JSON.stringify([
    tokens.list().map(({ id, name }) => [id, name]),
    (await rules.list()).map(({ subject, decision, created }) => [subject, decision, created]),
    (await Promise.all(said)).toSorted((one, other) =>
      String(one[0]) < String(other[0]) ? -1 : 1,
    ),
  ]);
}
