import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { GitConfig } from "./config/git-config.ts";
import { remotesOf } from "./remotes.ts";
import { SampleRepository } from "../../test/samples/sample-repository.ts";

/** What git itself says of a remote. */
function urlsOf(sample: SampleRepository, name: string, ...options: string[]): string[] {
  return sample.run("remote", "get-url", "--all", ...options, name).split("\n");
}

describe("remotesOf()", { timeout: 60_000 }, () => {
  it("rewrites URLs exactly as git does, for fetching and for pushing", async () => {
    using sample = new SampleRepository();
    const config: [string, string][] = [
      ["url.git@github.com:.insteadOf", "gh:"],
      ["url.git@work:acme/.insteadOf", "gh:acme/"],
      ["url.https://mirror/.insteadOf", "https://github.com/"],
      ["url.ssh://git@github.com/.pushInsteadOf", "https://github.com/"],
      ["url.ssh://git@other/.pushInsteadOf", "gh:b"],
      ["remote.origin.url", "gh:acme/app.git"],
      ["remote.origin.url", "https://github.com/b/app"],
      ["remote.origin.url", "gh:bob/app"],
      ["remote.two.url", "gh:other/app"],
      ["remote.two.pushurl", "https://github.com/c/app"],
      ["remote.two.pushurl", "gh:acme/x"],
      ["remote.with.dots.url", "/srv/app.git"],
    ];
    for (const [key, value] of config) sample.run("config", "--add", key, value);
    const remotes = remotesOf(await GitConfig.read(sample.git));
    assert.deepEqual(
      remotes.map(({ name }) => name),
      ["origin", "two", "with.dots"],
    );
    for (const { name, fetch, push } of remotes) {
      const used = (addresses: typeof fetch) => addresses.map(({ effective }) => effective);
      assert.deepEqual(used(fetch), urlsOf(sample, name), name);
      assert.deepEqual(used(push), urlsOf(sample, name, "--push"), name);
    }
    assert.equal(remotes[0]?.fetch[0]?.raw, "gh:acme/app.git");
  });

  it("puts the push remote first", async () => {
    using sample = new SampleRepository();
    for (const name of ["a", "origin", "b"]) sample.run("remote", "add", name, `h:x/${name}`);
    sample.run("config", "remote.pushDefault", "b");
    const names = remotesOf(await GitConfig.read(sample.git)).map(({ name }) => name);
    assert.deepEqual(names, ["b", "origin", "a"]);
  });
});
