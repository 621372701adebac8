import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempDisposableSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { listFolder } from "./start-routes.ts";

const sample = () => mkdtempDisposableSync(join(tmpdir(), "trunkline-folders-"));

describe("listFolder()", () => {
  it("lists folders by name, and neither files, links, pipes nor hidden folders", async () => {
    using folder = sample();
    const at = (...parts: string[]): string => join(folder.path, ...parts);
    mkdirSync(at("b", ".git"), { recursive: true });
    mkdirSync(at("a"));
    mkdirSync(at(".hidden"));
    writeFileSync(at("file"), "");
    symlinkSync("/", at("link"));
    execFileSync("mkfifo", [at("pipe")]);
    const { folders, isCut } = await listFolder(folder.path, undefined);
    assert.deepEqual(
      folders.map(({ name, isRepository }) => [name, isRepository]),
      [
        ["a", false],
        ["b", true],
      ],
    );
    assert.equal(isCut, false);
    for (const name of ["file", "pipe", "none"]) {
      await assert.rejects(listFolder(at(name), undefined), /Cannot list .*folder/, name);
    }
  });

  it("lists nothing that a link leads out of the folders of a token", async () => {
    using folder = sample();
    const at = (...parts: string[]): string => join(folder.path, ...parts);
    mkdirSync(at("mine"));
    mkdirSync(at("other", "secret"), { recursive: true });
    symlinkSync(at("other"), at("mine", "way"));
    symlinkSync(at("mine"), at("alias"));
    for (const path of [at("mine", "way"), at("mine", "way", "secret"), at("mine", "..")]) {
      await assert.rejects(listFolder(path, [at("mine")]), /that this token may use/, path);
    }
    assert.equal((await listFolder(at("mine"), [at("alias")])).path, at("mine"));
  });

  it("says that there is more than it lists", async () => {
    using folder = sample();
    for (let n = 0; n <= 500; n++) mkdirSync(join(folder.path, `f${n}`));
    const { folders, isCut } = await listFolder(folder.path, undefined);
    assert.deepEqual([folders.length, isCut], [500, true]);
  });
});
