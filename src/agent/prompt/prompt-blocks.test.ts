import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempDisposableSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { promptBlocks } from "./prompt-blocks.ts";

describe("promptBlocks() for files of a project", () => {
  it("names and reads nothing that a path or a link leads out of it, and waits for no pipe", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "trunkline-prompt-"));
    const at = (...parts: string[]): string => join(home.path, ...parts);
    mkdirSync(at("project"));
    writeFileSync(at("secret.png"), "secret");
    writeFileSync(at("secret.txt"), "secret");
    writeFileSync(at("project", "own.png"), "own");
    symlinkSync(at("secret.png"), at("project", "link.png"));
    symlinkSync(home.path, at("project", "up"));
    execFileSync("mkfifo", [at("project", "pipe.png")]);
    const names = ["link.png", "up/secret.png", "up/secret.txt", "../secret.txt", "pipe.png"];
    const text = [...names, at("secret.png"), "own.png"].map((name) => `@${name}`).join(" ");
    const [, ...blocks] = await promptBlocks(text, at("project"), [at("project")]);
    assert.deepEqual(
      blocks.map(({ type, data }) => [type, data]),
      [["image", Buffer.from("own").toString("base64")]],
    );
    writeFileSync(at("project", "huge.png"), "");
    truncateSync(at("project", "huge.png"), 11 * 1024 * 1024);
    await assert.rejects(
      promptBlocks("@huge.png", at("project")),
      /all images may have 10 MB together/,
    );
  });

  it("reads no more images than a prompt may have, looks for so many names, and lets others go on", async () => {
    using home = mkdtempDisposableSync(join(tmpdir(), "trunkline-prompt-"));
    const names = Array.from({ length: 3 }, (_, at) => `${at}.png`);
    for (const name of names) {
      writeFileSync(join(home.path, name), "");
      truncateSync(join(home.path, name), 4 * 1024 * 1024);
    }
    const some = await promptBlocks(names.slice(1).join(" "), home.path, [home.path]);
    assert.equal(some.length, 3);
    await assert.rejects(promptBlocks(names.join(" "), home.path), /2\.png'.*10 MB together/);
    const missing = Array.from({ length: 1_000 }, (_, at) => `@x${at}`).join(" ");
    const [text, ...found] = await promptBlocks(`@0.png ${missing} @1.png`, home.path);
    assert.deepEqual([text?.type, found.length], ["text", 1]);
    let hadTurn = false;
    setImmediate(() => (hadTurn = true));
    await promptBlocks("word ".repeat(10_000), home.path);
    assert.ok(hadTurn);
  });
});
