import assert from "node:assert/strict";
import { mkdirSync } from "node:fs";
import { mkdtempDisposable } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleRepository } from "../../../test/samples/sample-repository.ts";
import { repositoryAddresses, repositoryOf } from "./toolbox-parts.ts";

describe("repositoryOf()", () => {
  it("finds the top folder from a subfolder, and nothing outside of a repository", async () => {
    using sample = new SampleRepository();
    const below = join(sample.path, "a/b");
    mkdirSync(below, { recursive: true });
    assert.equal(await repositoryOf(below), sample.path);
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-none-"));
    assert.equal(await repositoryOf(folder.path), undefined);
  });
});

describe("repositoryAddresses()", () => {
  it("returns the URLs as the repository itself writes them", async () => {
    using sample = new SampleRepository();
    sample.run("config", "remote.origin.url", "gh:acme/app.git");
    sample.run("config", "url.https://github.com/.insteadOf", "gh:");
    assert.deepEqual(await repositoryAddresses(sample.path), ["gh:acme/app.git"]);
  });

  it("returns none if none can be determined", async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), "trunkline-none-"));
    assert.deepEqual(await repositoryAddresses(folder.path), []);
  });
});
