import assert from "node:assert/strict";
import { mkdirSync, rmSync } from "node:fs";
import { describe, it } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { isDeepStrictEqual } from "node:util";

import { CutProxy } from "../../../test/support/chaos/cut-proxy.ts";
import { noNats } from "../../../test/support/nats-server.ts";
import { Fleet, type FleetNode } from "../../../test/support/shared-fleet.ts";
import { until } from "../../../test/support/until.ts";

import { connectTo } from "../../../test/support/fleet-node.ts";
import { TrunklineError } from "../../base/errors.ts";
import { SharedBase, type SharedKind } from "./shared-base.ts";
import { SharedState } from "./shared-state.ts";
import type { AccessTokens } from "../../store/access/access-tokens.ts";

const GRANT = { scopes: ["tools"] } as const;

describe("Shared tokens", { skip: noNats }, () => {
  it("are valid at every node, and no longer once one node has revoked them", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const { token, kept } = await a.tokens.create("ci", GRANT);
    await until(() => b.tokens.use(token)?.id === kept.id);
    await b.tokens.revoke("ci");
    await until(() => a.tokens.use(token) === undefined);
    assert.deepEqual(b.tokens.list(), []);
  });

  it("that were made with another end with it at every node, whoever knew of them", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const maker = await a.tokens.create("maker", GRANT);
    await until(() => b.tokens.use(maker.token) !== undefined);
    const known = await b.tokens.create("known", GRANT, undefined, maker.kept.id);
    await until(() => a.tokens.use(known.token) !== undefined);
    const unknown = await b.tokens.create("unknown", GRANT, undefined, maker.kept.id);
    await a.tokens.revoke("maker");
    for (const { tokens } of [a, b]) {
      for (const { token } of [maker, known, unknown]) {
        await until(() => tokens.use(token) === undefined);
      }
    }
  });

  it("of a node that joins are added to those that are there, with distinct names", async () => {
    await using fleet = await Fleet.start();
    const early = await fleet.tokens("a").create("ci", GRANT);
    await delay(2);
    const late = await fleet.tokens("b").create("ci", GRANT);
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const names = ["ci", `ci-${late.kept.id}`];
    for (const { tokens } of [a, b]) {
      await until(() => isDeepStrictEqual(namesOf(tokens), names));
      assert.equal(tokens.use(early.token)?.id, early.kept.id);
      assert.equal(tokens.use(late.token)?.name, names[1]);
    }
  });

  it("that were revoked while a node was away are revoked there when it comes back", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    const { token, kept } = await a.tokens.create("ci", GRANT);
    {
      await using b = await fleet.node("b");
      await until(() => b.tokens.use(token) !== undefined);
    }
    await a.tokens.revoke("ci");
    await until(async () => (await fleet.published("token", kept.id)) === "");
    assert.notEqual(fleet.tokens("b").use(token), undefined);
    await using b = await fleet.node("b");
    await until(() => b.tokens.use(token) === undefined);
  });

  it("are read and changed while NATS is down, and the changes are shared afterwards", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const old = await a.tokens.create("old", GRANT);
    await until(() => b.tokens.use(old.token) !== undefined);
    await fleet.nats.kill();
    await a.tokens.revoke("old");
    const own = await b.tokens.create("new", GRANT);
    assert.notEqual(b.tokens.use(old.token), undefined);
    await until(() => a.tokensShared?.status.problem !== undefined);
    await fleet.nats.restart();
    await until(() => a.tokens.use(own.token) !== undefined);
    await until(() => b.tokens.use(old.token) === undefined);
    assert.equal(a.tokensShared?.status.problem, undefined);
  });

  it("are shared again after NATS has lost its data", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    const { token } = await a.tokens.create("ci", GRANT);
    await until(async () => (await fleet.messages()) === 1);
    await fleet.forget();
    await using b = await fleet.node("b");
    await until(() => b.tokens.use(token) !== undefined);
  });

  it("stay revoked where a node ended before it knew that they were shared", async () => {
    await using fleet = await Fleet.start();
    await using b = await fleet.node("b");
    const token = await createUnheard(fleet, b);
    await fleet.tokens("a").revoke("ci");
    await using a = await fleet.node("a");
    await until(() => b.tokens.use(token) === undefined);
    assert.equal(a.tokens.use(token), undefined);
  });

  it("come back where a damaged file was removed", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await using b = await fleet.node("b");
    const { token } = await a.tokens.create("ci", GRANT);
    await until(() => b.tokens.use(token) !== undefined);
    rmSync(b.tokens.path);
    assert.equal(b.tokens.use(token), undefined);
    await until(() => b.tokens.use(token) !== undefined);
    assert.notEqual(a.tokens.use(token), undefined);
  });

  it("of a newer version stay shared, though this one cannot use them", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await until(() => a.shared.status.isUpToDate && a.tokensShared?.status.isUpToDate === true);
    const unknown = JSON.stringify({ id: "00000001", name: "x", scopes: ["of tomorrow"] });
    await fleet.publish("token", "00000001", unknown);
    const { token } = await a.tokens.create("ci", GRANT);
    await using b = await fleet.node("b");
    await until(() => b.tokens.use(token) !== undefined);
    assert.equal(await fleet.published("token", "00000001"), unknown);
    assert.deepEqual(namesOf(b.tokens), ["ci"]);
  });
});

describe("Shared stores", { skip: noNats }, () => {
  it("go on after messages that nobody understands", async () => {
    await using fleet = await Fleet.start();
    await using a = await fleet.node("a");
    await until(() => a.shared.status.isUpToDate && a.tokensShared?.status.isUpToDate === true);
    const garbage = [
      "{",
      "null",
      "[]",
      '{"id":1}',
      '{"events":[]}',
      "\0\u{1F600}",
      '{"decision":"allow"}',
    ];
    for (const kind of ["token", "rule", "thread", "text", "of-tomorrow"]) {
      for (const [index, text] of garbage.entries()) {
        await fleet.publish(kind, `k${index}-00000000`, text);
      }
    }
    await using b = await fleet.node("b");
    const { token } = await b.tokens.create("ci", GRANT);
    await until(() => a.tokens.use(token) !== undefined);
    await b.tokens.revoke("ci");
    await until(() => a.tokens.use(token) === undefined);
    assert.deepEqual([await a.rules.list(), await a.reviews.list()], [[], []]);
    assert.equal(await fleet.published("of-tomorrow", "k0-00000000"), "{");
  });

  it("go on after a row that cannot be stored, and keep their place while nothing can be", async () => {
    await using fleet = await Fleet.start();
    const data = fleet.folder("a");
    mkdirSync(data, { mode: 0o700 });
    await using connection = await connectTo(fleet.nats.url, "a");
    const reported: string[] = [];
    const rows = new Map<string, string>();
    let isFull = true;
    const kind: SharedKind = {
      name: "rule",
      stamp: () => rows.size,
      read: async () => ({ rows, isWhole: true }),
      change: async (keys, decide) => {
        if (isFull) throw new TrunklineError("unavailable", "Cannot write: the disk is full");
        const changed = new Map(keys.map((key) => [key, decide(key, rows.get(key))]));
        if (keys.includes("bad")) throw new TypeError("it is no rule");
        for (const [key, text = ""] of changed) rows.set(key, text);
        return changed;
      },
      merge: (local) => local,
    };
    const report = (event: string): void => void reported.push(event);
    await using shared = await SharedState.open({ connection, data, kinds: [kind], report });
    await until(() => shared.status.isUpToDate);
    for (const key of ["one", "bad", "two"]) await fleet.publish("rule", key, key);
    await until(() => reported.includes("shared.interrupted"));
    assert.equal(rows.size, 0);
    isFull = false;
    await until(() => rows.size === 2);
    assert.deepEqual([...rows.keys()], ["one", "two"]);
    assert.ok(reported.includes("shared.not-applied"));
  });
});

/** Has node a create the token `ci`, and end before it has heard from NATS that the token is shared. */
async function createUnheard(fleet: Fleet, other: FleetNode): Promise<string> {
  await using owned = new AsyncDisposableStack();
  const network = await CutProxy.start(fleet.nats.port);
  const a = owned.use(await fleet.node("a", "gateway", network.url));
  // Its connection is lost before it ends, so it does not wait for answers.
  owned.use(network);
  const { token: first } = await other.tokens.create("first", GRANT);
  await until(() => a.tokens.use(first) !== undefined);
  network.mute();
  const { token, kept } = await a.tokens.create("ci", GRANT);
  await until(() => other.tokens.use(token) !== undefined);
  using base = await SharedBase.open(a.data, "tokens");
  assert.equal((await base.entries("token")).get(kept.id)?.seq, 0);
  return token;
}

function namesOf(tokens: AccessTokens): string[] {
  return tokens.list().map(({ name }) => name);
}
