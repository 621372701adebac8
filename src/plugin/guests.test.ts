import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { describe, it } from "node:test";
import { create } from "@bufbuild/protobuf";

import { covers } from "../../test/support/requirement.ts";
import { PLUGIN_UNIT } from "../protocol/bus/certificates/certificates.ts";
import { PluginManifestSchema } from "../protocol/bus/plugin.gen.ts";
import {
  type Connection,
  type PeerCertificate,
  resolveConnectionLimits,
} from "../wire/quic/connection.ts";
import { SocketConnection } from "../wire/quic/tls/socket-connection.ts";
import type { PluginPermissions } from "./plugin/permissions.ts";
import {
  BRIDGE_NAME,
  CONTROL_NAME,
  expectOrchestrator,
  expectPlugin,
  newGuests,
  isPlugin,
  nameOf,
  problemOfId,
} from "./guests.ts";

/** A connection of somebody with such a certificate, or none. */
function by(name?: string, unit?: string): Connection {
  const peer = name === undefined ? undefined : ({ name, unit } as PeerCertificate);
  const options = { address: "memory", peer, limits: resolveConnectionLimits() };
  return new SocketConnection(duplexPair()[0], options);
}

const manifest = (id: string, needsTools: string[] = []) =>
  create(PluginManifestSchema, { id, needsTools });

describe("Guests", () => {
  it("lets a plugin call its own tools and those it needs, by its manifest or our configuration", () => {
    const guests = newGuests({
      rightsOf: (id) => (id === "ours" ? { needsTools: ["granted"] } : undefined),
    });
    const ours = by("ours-client");
    const { isPlugin: isOurs, mayCall } = guests.of(ours);
    assert.equal(isOurs, true);
    assert.deepEqual(
      [mayCall("x", "ours"), mayCall("granted", undefined), mayCall("x", "other")],
      [true, true, false],
    );
    assert.equal(guests.register(by("ours"), manifest("ours", ["said"])), undefined);
    assert.equal(guests.of(ours).mayCall("said", "other"), true);
    guests.forget("ours");
    assert.equal(guests.of(ours).mayCall("said", "other"), false);
  });

  it("lets a plugin call only what was approved, whatever its manifest says", () => {
    const rights = { needsTools: ["granted"], permissions: { tools: ["approved"] } };
    const guests = newGuests({ rightsOf: () => rights });
    assert.equal(guests.register(by("ours"), manifest("ours", ["*"])), undefined);
    const { mayCall, isApproved } = guests.of(by("ours-client"));
    const may = ["granted", "approved", "other"].map((tool) => mayCall(tool, undefined));
    assert.deepEqual([isApproved, ...may], [true, true, true, false]);
  });

  it("lets a plugin that needs '*' call everything", () => {
    const guests = newGuests({ rightsOf: () => ({ needsTools: ["*"] }) });
    assert.equal(guests.of(by("any")).mayCall("x", undefined), true);
  });

  it("lets bridges and our own program call what the policy allows, and others only plugins' tools", () => {
    const guests = newGuests({ rightsOf: () => undefined });
    for (const trusted of [BRIDGE_NAME, "transport.http-client", CONTROL_NAME, undefined]) {
      assert.equal(guests.of(by(trusted)).mayCall("x", undefined), true, trusted ?? "nobody");
    }
    const { mayCall, isPlugin: isOne } = guests.of(by("somebody"));
    assert.deepEqual([isOne, mayCall("x", undefined), mayCall("x", "a")], [false, false, true]);
  });

  it("recognises a plugin by its certificate, even if it is not configured", () => {
    const guests = newGuests({ rightsOf: () => undefined });
    assert.equal(guests.of(by("stranger", PLUGIN_UNIT)).isPlugin, true);
    // Which a name that bridges have does not change.
    assert.equal(guests.of(by("transport.x", PLUGIN_UNIT)).mayCall("x", undefined), false);
  });

  it("refuses to register without a certificate, under another name, or with endless lists", () => {
    const guests = newGuests({ rightsOf: () => undefined });
    assert.match(guests.register(by(), manifest("a")) ?? "", /must show a certificate/);
    assert.match(guests.register(by("b-client"), manifest("a")) ?? "", /is that of 'b'/);
    const endless = manifest("a", Array<string>(10_001).fill("t"));
    assert.match(guests.register(by("a"), endless) ?? "", /at most 10000 entries/);
    const long = manifest("a", ["t".repeat(1_001)]);
    assert.match(guests.register(by("a"), long) ?? "", /of 1000 characters/);
    assert.equal(guests.manifestOf("a"), undefined);
  });
});

describe("the permissions of a plugin", () => {
  const guestWith = (permissions: PluginPermissions | undefined) =>
    newGuests({ rightsOf: () => ({ ...(permissions === undefined ? {} : { permissions }) }) });

  it("limit documents and topics to its own, unless others were approved", () => {
    const { namespace, mayPublish, maySubscribe } = guestWith({
      ...{ namespace: "ours", publish: ["build"], subscribe: ["*"] },
    }).of(by("ours-client"));
    assert.equal(namespace, "ours");
    const topics = ["ours", "ours/x", "build", "oursx", "ours.x/y", "other/x", "*"];
    assert.deepEqual(topics.map(mayPublish), [true, true, true, false, false, false, false]);
    assert.ok(topics.every(maySubscribe));
    const nobodyAsked = guestWith({}).of(by("ours-client"));
    assert.deepEqual(
      [nobodyAsked.namespace, nobodyAsked.maySubscribe("x"), nobodyAsked.mayPublish("x")],
      [undefined, false, false],
    );
  });

  it("let a plugin of before go on with what plugins share", () => {
    const { namespace, mayPublish, maySubscribe } = guestWith(undefined).of(by("ours-client"));
    assert.deepEqual([namespace, mayPublish("x"), maySubscribe("x")], ["/", true, true]);
  });

  it("refuse a registration that provides more than was approved, and name it", () => {
    const provides = { tools: ["greet"], prompts: [], storage: ["notes"], ai: ["x"] };
    const permissions = { provides, publish: ["build"] };
    const good = {
      ...{ providesTools: ["greet"], providesStorage: ["notes"], providesAi: ["x"] },
      providesEvents: ["ours/x", "build"],
    };
    const registered = (more: object) =>
      guestWith(permissions).register(
        by("ours"),
        create(PluginManifestSchema, { id: "ours", ...more }),
      );
    assert.equal(registered(good), undefined);
    for (const [more, words] of [
      [{ providesTools: ["greet", "clock"] }, "the tool 'clock'"],
      [{ providesPrompts: ["p"] }, "the prompt 'p'"],
      [{ providesStorage: ["markdown"] }, "the storage 'markdown'"],
      [{ providesAi: ["claude"] }, "the AI provider 'claude'"],
      [{ providesTransport: ["http"] }, "the transport 'http'"],
      [{ providesEvents: ["news"] }, "the topic 'news'"],
    ] as const) {
      const why = `it provides ${words}, which nobody approved. Run \`trunkline plugin approve ours\``;
      assert.equal(registered(more), why);
    }
    const guests = guestWith({});
    const storage = create(PluginManifestSchema, { id: "ours", providesStorage: ["markdown"] });
    assert.match(guests.register(by("ours"), storage) ?? "", /the storage 'markdown'/);
    assert.equal(guests.manifestOf("ours"), undefined);
    // One about which nobody was asked may offer its tools.
    assert.equal(
      guests.register(
        by("ours"),
        create(PluginManifestSchema, { id: "ours", providesTools: ["t"] }),
      ),
      undefined,
    );
  });
});

describe("the other end of a connection", () => {
  it("is named by its certificate, without the suffix of clients", () => {
    covers("bus.certs.names");
    assert.deepEqual([by("a-client"), by("a"), by()].map(nameOf), ["a", "a", "anonymous"]);
  });

  it("is closed if another plugin answers than the one that was dialled", async () => {
    const [right, wrong] = [by("a"), by("b")];
    assert.equal(await expectPlugin(right, "a"), right);
    await assert.rejects(expectPlugin(wrong, "a"), /'b' serves there, not plugin 'a'/);
    assert.deepEqual([right.isClosed, wrong.isClosed], [false, true]);
  });

  it("is closed if a plugin answers in place of the orchestrator", async () => {
    const [right, wrong] = [by("orchestrator"), by("tools.evil", PLUGIN_UNIT)];
    assert.equal(await expectOrchestrator(right), right);
    await assert.rejects(expectOrchestrator(wrong), { trouble: "wrong-name" });
    assert.deepEqual([isPlugin(right), isPlugin(wrong), wrong.isClosed], [false, true, true]);
  });
});

describe("problemOfId()", () => {
  it("refuses ids whose certificates belong to other programs", () => {
    const taken = [
      "ca",
      "Orchestrator",
      "orchestrator-to-x",
      CONTROL_NAME,
      "transport.stdio",
      "x-client",
    ];
    for (const id of taken) assert.notEqual(problemOfId(id), undefined, id);
    for (const id of ["tools.notes", "ca.x", "client"])
      assert.equal(problemOfId(id), undefined, id);
  });

  it("refuses ids that name a folder elsewhere, which would be removed with the plugin", () => {
    for (const id of ["..", "../../x", "/home", "a/b", "", "a\u001b[2J", "x".repeat(190)]) {
      assert.match(problemOfId(id) ?? "", /^use letters, digits/, id);
    }
  });
});
