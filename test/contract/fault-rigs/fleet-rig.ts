import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { join } from "node:path";

import { untilShared } from "../../../src/fleet/replication/until-shared.ts";
import { connectTo } from "../../support/fleet-node.ts";
import { FleetStores } from "../../support/fleet-stores.ts";
import { NatsServer } from "../../support/nats-server.ts";
import { Fleet, FleetNode } from "../../support/shared-fleet.ts";
import { until } from "../../support/until.ts";
import type { FaultRig, Step } from "../store-fault-contract.ts";

/** A worker of a fleet: its sessions are in its own folder, which fails, and in NATS, which does not. */
export async function workerSessions(): Promise<FaultRig> {
  await using opening = new AsyncDisposableStack();
  const server = opening.use(await NatsServer.start());
  const stores = opening.use(new FleetStores(server));
  const { store, data } = await stores.worker();
  const gateway = await stores.gateway();
  const acknowledged = new Map<string, string[]>();
  const say = async (key: number, id: string): Promise<void> => {
    const text = JSON.stringify({ said: randomUUID() });
    try {
      const { stored } = store.append(key, "client", text);
      await stored;
      acknowledged.set(id, [...(acknowledged.get(id) ?? []), text]);
    } finally {
      await store.release(key);
    }
  };
  const first = randomUUID();
  const session = { cwd: "/w", agent: "a", notes: {} };
  const { key: firstKey } = await store.create({ ...session, id: first });
  await say(firstKey, first);
  const steps: Step[] = [
    {
      name: "continue a session",
      run: async () => say((await store.hold(first)).key, first),
    },
    {
      name: "begin a session",
      run: async () => {
        const id = randomUUID();
        await say((await store.create({ ...session, id })).key, id);
      },
    },
    {
      name: "describe a session",
      run: async () => {
        const { key } = await store.hold(first);
        try {
          await store.describe(key, { title: "a title" });
        } finally {
          await store.release(key);
        }
      },
    },
    { name: "list sessions", run: () => store.list() },
    { name: "read a session", run: () => Array.fromAsync(store.read(first)) },
  ];
  const opened = opening.move();
  return {
    folder: data,
    steps,
    verify: async () => {
      for (const [id, texts] of acknowledged) {
        const events = (await Array.fromAsync(gateway.read(id))).flat();
        const said = events.map(({ message }) => JSON.stringify(message));
        assert.deepEqual(
          texts.filter((text) => !said.includes(text)),
          [],
        );
      }
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

/** A gateway of a fleet that shares its tokens, rules, reviews and audit with another. */
export async function sharedStores(): Promise<FaultRig> {
  await using opening = new AsyncDisposableStack();
  const fleet = opening.use(await Fleet.start());
  const folder = join(fleet.folder("failing"), "data");
  const connection = await connectTo(fleet.nats.url, "failing");
  const node = opening.use(await FleetNode.start(folder, "failing", connection, "gateway"));
  const other = opening.use(await fleet.node("other"));
  const created = new Set<string>();
  const tried = new Set<string>();
  const revoked = new Set<string>();
  const row = { part: "tokens", kind: "token" } as const;
  const steps: Step[] = [
    {
      name: "create a token",
      run: async () => {
        const { kept } = await node.tokens.create(`t-${randomUUID()}`, { scopes: ["tools"] });
        created.add(kept.id);
        await untilShared(folder, { ...row, key: kept.id, isThere: true }, 300);
      },
    },
    {
      name: "revoke a token",
      run: async () => {
        const [key = ""] = created.difference(tried);
        // One that fails may have been done all the same.
        tried.add(key);
        await node.tokens.revoke(key);
        revoked.add(key);
        await untilShared(folder, { ...row, key, isThere: false }, 300);
      },
    },
    {
      name: "add a rule",
      run: () =>
        node.rules.add({
          ...{ workspace: "/w", subject: randomUUID(), session: "1", by: "ada", principal: "" },
          decision: "allow",
        }),
    },
  ];
  const opened = opening.move();
  return {
    folder,
    steps,
    verify: async () => {
      const valid = created.difference(tried);
      const idsAt = ({ tokens }: FleetNode): Set<string> => {
        return new Set(tokens.list().map(({ id }) => id));
      };
      for (const each of [node, other]) {
        await until(() => {
          const ids = idsAt(each);
          return ids.isSupersetOf(valid) && ids.isDisjointFrom(revoked);
        });
      }
      const count = (await node.rules.list()).length;
      await until(async () => (await other.rules.list()).length === count);
    },
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
