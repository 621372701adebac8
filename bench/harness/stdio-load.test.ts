import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Program } from "./program.ts";
import { type Exchange, StdioLoad } from "./stdio-load.ts";

const EXCHANGE: Exchange = {
  request: (id) => JSON.stringify({ id }),
  isRight: (id, result) => result === id,
};

/** A program that does something with each line it reads. */
function program(answer: string): Program {
  const read = `require("node:readline").createInterface(process.stdin).on("line", (line) => {
    const { id } = JSON.parse(line);
    const say = (id, result) => console.log(JSON.stringify({ id, result }));
    ${answer}
  })`;
  return new Program(["-e", read]);
}

describe("StdioLoad", () => {
  it("resolves when every request is answered, in whatever order", async () => {
    await using echo = program("setTimeout(say, id % 7, id, id)");
    const load = new StdioLoad(echo, EXCHANGE);
    await load.pipeline(1_000);
    assert.equal((await load.serial(3)).length, 3);
    await echo.finish();
  });

  const WRONG = {
    "a result is wrong": "say(id, id === 300 ? 0 : id)",
    "an answer comes twice": "say(id, id); if (id === 300) say(id, id)",
    "an answer is to a request that was not sent": "say(id === 300 ? 9999 : id, id)",
  };
  for (const [when, answer] of Object.entries(WRONG)) {
    it(`rejects when ${when}`, async () => {
      await using liar = program(answer);
      await assert.rejects(new StdioLoad(liar, EXCHANGE).pipeline(1_000), /no answer to any/);
    });
  }

  it("rejects with what the program said when it dies", async () => {
    await using mortal = program(`if (id === 300) throw new Error("out of tea"); say(id, id)`);
    await assert.rejects(new StdioLoad(mortal, EXCHANGE).pipeline(1_000), /out of tea/);
  });
});
