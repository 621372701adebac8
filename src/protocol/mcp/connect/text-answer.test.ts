import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { SeededRandom } from "../../../../test/support/seeded-random.ts";
import { SampleContext } from "../../../../test/upstream/sample-context.ts";
import { Peer } from "../../../rpc/peer.ts";
import { Offer } from "../../../tool/offer/offer.ts";
import { type MemoryChannel, memoryPair } from "../../../wire/channel/memory.ts";
import { Connection } from "../serve/connection.ts";
import { McpDoor } from "../serve/door.ts";
import { McpClient } from "./connect.ts";
import { readTextAnswer } from "./text-answer.ts";

type Json = Readonly<Record<string, unknown>>;

const ANSWER = `{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"hi"}]}}`;

/** Texts, as JSON spells them. */
const TEXTS = [
  "hi",
  "",
  String.raw`\n\t\"\\\/\b\f\r`,
  String.raw`\ud83d\ude00 \uD83D \udfff`,
  "ä \u{1f600} \u2028 \u007f",
  String.raw`\"}]}},{\"id\":9,\"result\":{}`,
  `{'id': 8}`,
  "x".repeat(3000),
];
const MEMBERS = [
  `"isError":true`,
  `"isError":false`,
  `"isError":null`,
  `"isError":"true"`,
  `"_meta":{"id":3}`,
  `"structuredContent":{"a":1e400,"__proto__":2,"b":12345678901234567890}`,
  `"resultType":"complete"`,
  `"ttlMs":5`,
  `"task":{"taskId":"t"}`,
  `"content":[]`,
  `"content":[{"type":"text","text":"twice"}]`,
  `"__proto__":{"isError":true}`,
  String.raw`"\u0063ontent":[{"type":"text","text":"spelt"}]`,
];
const ITEMS = [
  `{"type":"image","data":"","mimeType":"image/png"}`,
  `{"type":"text","text":1}`,
  `{"type":"text","text":"a","annotations":{}}`,
  `{"text":"a","type":"text"}`,
  `{"type":"text","text":"a","text":"b"}`,
  `{"type":"resource_link","uri":"a:b","name":"n"}`,
  `7`,
];

/** A valid answer in some spelling. `@` stands for the id. */
function spelling(chance: SeededRandom): string {
  const text = `{"type":"text","text":"${chance.pick(TEXTS)}"}`;
  const items = chance.once(3) ? [text, chance.pick(ITEMS)] : [text];
  const content = `"content":[${chance.once(9) ? chance.pick(ITEMS) : items.join(",")}]`;
  const more = chance.once(2) ? [chance.pick(MEMBERS)] : [];
  const members = chance.once(5) ? [...more, content] : [content, ...more];
  const result = `"result":{${members.join(",")}}`;
  const id = chance.once(8) ? `"id":99,"id":@` : `"id":@`;
  const version = `"jsonrpc":"2.0"`;
  const orders = [
    [version, id, result],
    [result, version, id],
    [id, version, result],
    [version, result, id],
    [version, id, `"result":{}`, result],
    [version, id, result, `"extra":{"id":5}`],
  ];
  const message = `{${chance.pick(orders.slice(0, chance.once(3) ? 6 : 2)).join(",")}}`;
  if (!chance.once(6)) return message;
  return message.replaceAll(
    /([:,])"/g,
    (_, mark: string) => `${mark}${chance.pick([" ", "\t", ""])}"`,
  );
}

/** A server that answers the call of number `n` with the text of that number. */
function serve(channel: MemoryChannel, texts: readonly string[]): void {
  channel.receive({
    message: (text) => {
      const { id, method, params } = JSON.parse(text) as Json & { params: Json };
      const { n } = (params?.arguments ?? {}) as { n?: number };
      const serverInfo = { name: "s", version: "1" };
      const hello = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo };
      const answer =
        n === undefined
          ? JSON.stringify({ jsonrpc: "2.0", id, result: method === "initialize" ? hello : {} })
          : (texts[n] ?? "").replaceAll("@", String(id));
      if (id !== undefined) void channel.send(answer);
    },
    fault: () => {},
    end: () => {},
  });
}

/** What a client of a revision gets from the server through us, and how the calls are recorded. */
async function heard(
  texts: readonly string[],
  revision: string,
  takesUnparsed: boolean,
): Promise<{ answers: readonly unknown[]; outcomes: readonly string[]; unparsed: number }> {
  const [ours, theirs] = memoryPair();
  serve(theirs, texts);
  const client = await McpClient.connect(ours, { era: "legacy" });
  const outcomes: string[] = [];
  const offer = new Offer({ audit: { record: ({ outcome }) => void outcomes.push(outcome) } });
  let unparsed = 0;
  offer.tools.add({
    definition: { name: "t", inputSchema: { type: "object" } },
    call: async (args, context) => {
      const own = takesUnparsed ? context : new SampleContext();
      const result = await client.callTool("t", args, own);
      if ("toJSON" in result) unparsed++;
      return result;
    },
  });
  const [door, user] = memoryPair();
  const connection = new Connection();
  const peer = new Peer(door, connection, new McpDoor({ offer }).optionsFor(connection));
  const answers: unknown[] = [];
  const all = Promise.withResolvers<void>();
  user.receive({
    message: (text) => {
      const { id, ...answer } = JSON.parse(text) as { id: number };
      if (id < 0) return;
      answers[id] = answer;
      if (Object.keys(answers).length === texts.length) all.resolve();
    },
    fault: () => {},
    end: () => {},
  });
  const ask = (id: number, method: string, params: Json): void => {
    void user.send(JSON.stringify({ jsonrpc: "2.0", id, method, params }));
  };
  const clientInfo = { name: "c", version: "1" };
  ask(-1, "initialize", { protocolVersion: revision, capabilities: {}, clientInfo });
  for (const n of texts.keys()) ask(n, "tools/call", { name: "t", arguments: { n } });
  await all.promise;
  await peer.close();
  await client.close();
  return { answers, outcomes: outcomes.toSorted(), unparsed };
}

describe("readTextAnswer()", () => {
  it("reads what the parser reads, in valid and broken messages", () => {
    const chance = new SeededRandom(5);
    let read = 0;
    for (let round = 0; round < 20_000; round++) {
      const whole = spelling(chance).replaceAll("@", chance.pick(["7", "0", "07", "1e1", '"7"']));
      const at = chance.below(whole.length);
      const odd = chance.pick(['"', "\\", "\n", "\u0001", "{", "}", ",", "", "0"]);
      const text = chance.once(2) ? whole : whole.slice(0, at) + odd + whole.slice(at + 1);
      const answer = readTextAnswer(text);
      if (answer === undefined) continue;
      read++;
      // Throws where the text is not JSON.
      const { id, result } = JSON.parse(text) as { id: unknown; result: { isError?: unknown } };
      assert.equal(answer.id, id, text);
      assert.deepEqual(JSON.parse(answer.json), result, text);
      assert.equal(answer.isError, result.isError === true, text);
    }
    assert.ok(read > 500, `${read} were read`);
  });

  for (const [what, text] of [
    ["a leading zero in the id", ANSWER.replace("7", "07")],
    ["an id as text", ANSWER.replace("7", '"7"')],
    ["an id beyond what a number holds", ANSWER.replace("7", "12345678901234567")],
    ["an error", `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":"m"}}`],
    ["a control character", ANSWER.replace("hi", "h\u001fi")],
    ["a wrong escape", ANSWER.replace("hi", String.raw`\x41`)],
    ["half an escape", ANSWER.replace("hi", String.raw`\u12`)],
    ["a message after it", `${ANSWER}{}`],
    ["a long text", ANSWER.replace("hi", "x".repeat(70_000))],
  ] as const) {
    it(`leaves to the parser: ${what}`, () => assert.equal(readTextAnswer(text), undefined));
  }

  for (const revision of ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"]) {
    it(`gives clients of ${revision} the same answers as the parser`, async () => {
      const chance = new SeededRandom(11);
      const texts = Array.from({ length: 400 }, () => spelling(chance));
      const direct = await heard(texts, revision, true);
      const slow = await heard(texts, revision, false);
      assert.deepEqual(direct.answers, slow.answers);
      assert.deepEqual(direct.outcomes, slow.outcomes);
      assert.equal(slow.unparsed, 0);
      const isPlain = revision >= "2025-06-18";
      assert.equal(direct.unparsed > 50, isPlain, `${direct.unparsed} were not parsed`);
    });
  }
});
