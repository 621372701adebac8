import assert from "node:assert/strict";
import { readdirSync, statSync } from "node:fs";
import { connect } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, it } from "node:test";

import { SocketName } from "../../src/session/open/process-socket.ts";
import { McpWindow, WindowPlace } from "../support/mcp-window.ts";
import { Program } from "../support/program.ts";
import { noOtherUser, runAsOtherUser } from "../support/other-user.ts";

describe("`trunkline mcp` while `trunkline serve` runs", { timeout: 600_000 }, () => {
  it("relays to it: servers run once for all windows", async () => {
    using place = new WindowPlace();
    await using gateway = await place.serve();
    const windows = await Promise.all([1, 2, 3].map(() => McpWindow.open(place)));
    await using all = new AsyncDisposableStack();
    for (const window of windows) all.use(window);
    const texts = await Promise.all(windows.map((window) => window.textOf(window.call("count"))));
    assert.deepEqual(new Set(texts.map((text) => text.split(" ")[1])), new Set(["1", "2", "3"]));
    assert.equal(place.noted("start"), 1);
    assert.equal(gateway.program.stderr.includes("process.refused"), false);
  });

  it("serves no process that does not know the secret, and tells an older one to restart", async () => {
    using place = new WindowPlace();
    await using _gateway = await place.serve();
    const folder = join(place.home, ".local/state/trunkline/gateways");
    const name = readdirSync(folder).find((each) => each.endsWith(".sock")) ?? "";
    const ask = async (greeting: object): Promise<string> => {
      using path = new SocketName(join(folder, name));
      const socket = connect(path.path);
      socket.write(`${JSON.stringify(greeting)}\n`);
      return await text(socket);
    };
    for (const proof of [undefined, "undefined", "0".repeat(64)]) {
      for (const protocol of ["mcp", "status"]) {
        const answer = await ask({ protocol, folder: "/", proof });
        assert.match(answer, /"params":\{"refused":"[^"]* Restart it[^"]*"\}\}\n$/);
      }
    }
  });

  it("is the owner's alone", { skip: noOtherUser }, async () => {
    using place = new WindowPlace();
    await using _gateway = await place.serve();
    const folder = join(place.home, ".local/state/trunkline/gateways");
    const name = readdirSync(folder).find((each) => each.endsWith(".sock")) ?? "";
    assert.equal(statSync(join(folder, name)).mode & 0o777, 0o600);
    assert.equal(statSync(folder).mode & 0o077, 0);
    // The path of a socket has at most 107 bytes, so it is reached from its folder.
    const code = `
      try { process.chdir(${JSON.stringify(folder)}); } catch ({ code }) { console.log(code); process.exit(); }
      require("node:net").connect("./${name}").on("error", ({ code }) => console.log(code))`;
    assert.match(await runAsOtherUser(code), /^EACCES/);
  });

  it("gives each window an instance of a server with `instance: client`", async () => {
    using place = new WindowPlace({ instance: "client" });
    await using _gateway = await place.serve();
    {
      await using all = new AsyncDisposableStack();
      const windows = await Promise.all([1, 2, 3].map(() => McpWindow.open(place)));
      for (const window of windows) all.use(window);
      const first = windows.map((window) => window.call("count"));
      const texts = await Promise.all(windows.map((each, at) => each.textOf(first[at] ?? 0)));
      assert.deepEqual(new Set(texts.map((text) => text.split(" ")[1])), new Set(["1"]));
      assert.equal(new Set(texts).size, 3);
      assert.equal(place.noted("start"), 3);
      for (const window of windows) {
        assert.match(await window.textOf(window.call("count")), /^\d+ 2$/);
      }
      assert.equal(place.noted("start"), 3);
    }
    await place.untilNoted("end", 3);
  });

  it("asks the window whose call it is, and nobody waits for another's answer", async () => {
    using place = new WindowPlace();
    await using gateway = await place.serve();
    await using all = new AsyncDisposableStack();
    const windows = await Promise.all(["one", "two", "three"].map(() => McpWindow.open(place)));
    for (const window of windows) all.use(window);
    for (const window of windows) await window.textOf(window.call("count"));
    const [one, two, three] = windows as [McpWindow, McpWindow, McpWindow];
    const open = one.call("ask", { question: "one?" });
    const question = await one.find(({ method }) => method === "elicitation/create");
    assert.equal(question.params?.message, "one?");
    // It has not answered yet.
    for (const [window, word] of [
      [two, "two"],
      [three, "three"],
    ] as const) {
      const asked = window.call("ask", { question: `${word}?` });
      const { id, params } = await window.find(({ method }) => method === "elicitation/create");
      assert.equal(params?.message, `${word}?`);
      window.answer(id, { action: "accept", content: { word } });
      assert.match(await window.textOf(asked), new RegExp(`^\\d+ ${word}$`));
    }
    one.answer(question.id, { action: "accept", content: { word: "one" } });
    assert.match(await one.textOf(open), /^\d+ one$/);
    assert.equal(place.noted("start"), 3);
    await gateway.program.until(({ stderr }) => stderr.includes("upstream.instance-per-client"));
    await using list = new Program(["server", "list", "--config", place.config], {
      env: place.env,
    });
    await list.exit;
    assert.match(list.lines.join("\n"), /counting .* client, since it asks/);
  });
});
