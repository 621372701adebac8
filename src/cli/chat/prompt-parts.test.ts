import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { Completions } from "./completion.ts";
import { promptBlocks } from "../../agent/prompt/prompt-blocks.ts";
import { PromptHistory } from "./prompt-history.ts";

const folder = () => mkdtempDisposableSync(join(tmpdir(), "trunkline-chat-"));

describe("promptBlocks()", () => {
  it("attaches images by their path and names files by @, if they are there", async () => {
    using home = folder();
    const image = join(home.path, "a picture.PNG");
    writeFileSync(image, "png");
    writeFileSync(join(home.path, "main.ts"), "");
    const dropped = image.replaceAll(" ", String.raw`\ `);
    const text = `look at ${dropped} and @main.ts, @main.ts not @none.ts nor none.png`;
    const [said, ...rest] = await promptBlocks(text.replace(",", ""), home.path);
    assert.equal(said?.type, "text");
    assert.deepEqual(
      rest.map(({ type, mimeType, data, name }) => ({ type, mimeType, data, name })),
      [
        { type: "image", mimeType: "image/png", data: "cG5n", name: undefined },
        { type: "resource_link", mimeType: undefined, data: undefined, name: "main.ts" },
      ],
    );
    assert.equal((await promptBlocks(`'${image}'`, "/")).length, 2);
    assert.equal((await promptBlocks("mail me@main.ts", home.path)).length, 1);
  });
});

describe("PromptHistory", () => {
  it("is kept for the next session, for its owner alone, and survives a damaged line", async () => {
    using home = folder();
    const data = join(home.path, "data");
    const first = new PromptHistory(data);
    await first.load();
    await first.add("one");
    await first.add("two\nlines");
    assert.equal(statSync(join(data, "chat-history.jsonl")).mode & 0o777, 0o600);
    writeFileSync(join(data, "chat-history.jsonl"), '{"half\n', { flag: "a" });
    const next = new PromptHistory(data);
    await next.load();
    assert.deepEqual(next.all, ["one", "two\nlines"]);
    assert.equal(next.go(-1, "draft"), "two\nlines");
    assert.equal(next.go(-1, "two\nlines"), "one");
    assert.equal(next.go(-1, "one"), undefined);
    assert.equal(next.go(1, "one"), "two\nlines");
    assert.equal(next.go(1, "two\nlines"), "draft");
    assert.equal(next.go(1, "draft"), undefined);
  });
});

describe("Completions", () => {
  it("completes commands at the beginning, files by parts of their names, and sessions", async () => {
    using home = folder();
    execFileSync("git", ["init", "-q"], { cwd: home.path });
    mkdirSync(join(home.path, "src/deep"), { recursive: true });
    for (const name of ["src/deep/main-view.ts", "src/view.ts", "ignored.log", ".gitignore"]) {
      writeFileSync(join(home.path, name), name === ".gitignore" ? "*.log\n" : "");
    }
    const completions = new Completions({
      commands: () => [{ value: "/help" }, { value: "/review" }],
      sessions: () => Promise.resolve([{ value: "abc" }, { value: "xyz" }]),
      folder: () => home.path,
    });
    const of = async (text: string) =>
      (await completions.of(text))?.items.map(({ value }) => value);
    assert.deepEqual(await of("/re"), ["/review"]);
    assert.equal(await of("say /re"), undefined);
    assert.deepEqual(await of("see @view"), ["@src/view.ts", "@src/deep/main-view.ts"]);
    assert.deepEqual(await of("@sdmv"), ["@src/deep/main-view.ts"]);
    assert.equal(await of("@ignored"), undefined);
    assert.equal(await of("mail@view"), undefined);
    assert.deepEqual(await of("/resume x"), ["xyz"]);
    assert.deepEqual(await of(`@${home.path}/src/`), [
      `@${home.path}/src/deep/`,
      `@${home.path}/src/view.ts`,
    ]);
  });
});
