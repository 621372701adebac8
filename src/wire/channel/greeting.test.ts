import assert from "node:assert/strict";
import { duplexPair } from "node:stream";
import { describe, it } from "node:test";

import { Log } from "../../base/log.ts";
import type { Principal } from "../../base/principal.ts";
import { RecordingSink } from "../../../test/support/recording-sink.ts";
import {
  greet,
  mustNamePrincipal,
  type PrincipalGreeting,
  serveGreeted,
  type Welcome,
} from "./greeting.ts";

async function servedFor(greeting: string): Promise<Principal[]> {
  const [near, far] = duplexPair();
  const seen: Principal[] = [];
  far.resume();
  const served = serveGreeted<PrincipalGreeting, object>(near, {
    limits: {},
    log: new Log("error", () => {}),
    welcome: mustNamePrincipal,
    serve: async (_, { principal }) => {
      seen.push(principal);
    },
  });
  far.write(`${greeting}\n`);
  await served;
  far.destroy();
  return seen;
}

describe("serveGreeted()", () => {
  it("serves the principal that the other process names, with what that may do", async () => {
    const ann: Principal = { id: "ann", scopes: ["tools"] };
    assert.deepEqual(await servedFor(JSON.stringify({ principal: ann })), [ann]);
  });

  it("takes nobody for the owner who names no principal", async () => {
    const odd = ["null", "7", "hello", '{"principal":null}', '{"principal":{}}'];
    for (const greeting of ["{}", ...odd])
      assert.deepEqual(await servedFor(greeting), [], greeting);
  });
});

interface Named extends Welcome {
  readonly name: string;
}

describe("greet()", () => {
  const log = new Log("error", () => {});

  it("can be followed by messages at once, and tells what the answer says", async () => {
    const [near, far] = duplexPair();
    const { channel, welcome } = greet<Named>(near, { hello: 1 });
    const heard: string[] = [];
    const sink = new RecordingSink();
    channel.receive(sink);
    await channel.send("one");
    const served = serveGreeted<object, Named>(far, {
      limits: {},
      log,
      welcome: () => ({ name: "x" }),
      serve: async (other) => {
        const { promise, resolve } = Promise.withResolvers<void>();
        other.receive({
          message: (text) => void heard.push(text),
          fault() {},
          end: () => resolve(),
        });
        await other.send("two");
        await promise;
      },
    });
    assert.deepEqual(await welcome, { name: "x" });
    await sink.until(({ messages }) => messages.length === 1);
    await channel[Symbol.asyncDispose]();
    await served;
    assert.deepEqual([sink.messages, heard], [["two"], ["one"]]);
  });

  it("ends the channel with the reason of a refusal", async () => {
    const [near, far] = duplexPair();
    const { channel, welcome } = greet(near, {});
    const sink = new RecordingSink();
    channel.receive(sink);
    const refused = "It has another secret.";
    await serveGreeted(far, {
      limits: {},
      log,
      welcome: () => ({ refused }),
      serve: async () => {},
    });
    await assert.rejects(welcome, { code: "untrusted", message: refused });
    await sink.until(({ ends }) => ends.length === 1);
    assert.equal(sink.ends[0]?.message, refused);
  });

  it("takes the first message of a process that answers no greeting as what it is", async () => {
    const [near, far] = duplexPair();
    const { channel, welcome } = greet(near, {});
    const sink = new RecordingSink();
    channel.receive(sink);
    far.write('{"jsonrpc":"2.0","id":1,"result":{}}\n');
    await sink.until(({ messages }) => messages.length === 1);
    await assert.rejects(welcome, /another version/);
    await channel[Symbol.asyncDispose]();
    far.destroy();
  });
});
