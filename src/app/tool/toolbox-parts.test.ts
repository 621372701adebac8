import assert from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { repositoryAddresses } from "../../git/repository-addresses.ts";
import { repositoryOf } from "./toolbox-parts.ts";

describe("repositoryOf()", () => {
  it("finds the folders of a repository from a subfolder, and nothing outside of one", async () => {
    using sample = new SampleRepository();
    const below = join(sample.path, "a/b");
    mkdirSync(below, { recursive: true });
    const gitFolder = join(sample.path, ".git");
    assert.deepEqual(repositoryOf(below), { top: sample.path, gitFolders: [gitFolder, gitFolder] });
    writeFileSync(join(below, ".git"), `gitdir: ${gitFolder}`);
    assert.deepEqual(repositoryOf(below), { top: below, gitFolders: [gitFolder, gitFolder] });
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-none-"));
    assert.equal(repositoryOf(folder.path), undefined);
  });
});

describe("repositoryAddresses()", () => {
  it("returns where the repository itself says that it leads, in its normal form", async () => {
    using sample = new SampleRepository();
    sample.run("config", "remote.origin.url", "https://allowed.example/acme/app.git");
    sample.run("config", "url.https://Evil.example:443/.insteadOf", "https://allowed.example/");
    sample.run("config", "remote.other.url", "https://allowed.example/acme/../evil/x.git");
    const addresses = await repositoryAddresses(sample.path);
    assert.deepEqual(addresses, ["https://evil.example/acme/app.git"]);
  });

  it("returns none if none can be determined", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-none-"));
    assert.deepEqual(await repositoryAddresses(folder.path), []);
  });
});
