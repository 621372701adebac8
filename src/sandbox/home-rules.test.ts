import assert from "node:assert/strict";
import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { cacheVariables, homeRules } from "./home-rules.ts";

describe("homeRules()", () => {
  it("makes caches writable, hides secrets, and keeps login files read-only", () => {
    const { write, hide, keep, show } = homeRules("/home/ada", {});
    for (const path of [".cache", ".npm", ".cargo/registry", "go/pkg", ".m2/repository"]) {
      assert.ok(write.includes(`/home/ada/${path}`), path);
    }
    for (const path of [".ssh", ".aws", ".config/gh", ".mozilla", ".cache/trunkline"]) {
      assert.ok(hide.includes(`/home/ada/${path}`), path);
    }
    for (const path of [".bashrc", ".gitconfig", ".local/bin", ".npm/_npx"]) {
      assert.ok(keep.includes(`/home/ada/${path}`), path);
    }
    assert.ok(show.includes("/home/ada"));
  });

  it("does not make folders with programs writable, nor the home itself", () => {
    const { write } = homeRules("/home/ada", { GOMODCACHE: "/home/ada", XDG_CACHE_HOME: "/home" });
    for (const path of ["/", "/home", "/home/ada", "/home/ada/.cargo", "/home/ada/.gradle"]) {
      assert.ok(!write.includes(path), path);
    }
  });

  it("respects variables that move caches", () => {
    const { write, hide } = homeRules("/home/ada", {
      XDG_CACHE_HOME: "/big/cache",
      CARGO_HOME: "/big/cargo",
      npm_config_cache: "relative",
    });
    assert.ok(write.includes("/big/cache") && write.includes("/big/cargo/registry"));
    assert.ok(!write.includes("/home/ada/.cache") && write.includes("/home/ada/.npm"));
    assert.ok(hide.includes("/big/cache/trunkline"));
  });

  it("hides sockets that variables name", () => {
    const { hide } = homeRules("/home/ada", {
      SSH_AUTH_SOCK: "/keys/agent",
      DOCKER_HOST: "unix:///docker/socket",
      DBUS_SESSION_BUS_ADDRESS: "unix:path=/bus/socket,guid=1",
    });
    for (const path of ["/keys/agent", "/docker/socket", "/bus/socket"]) {
      assert.ok(hide.includes(path), path);
    }
    const remote = homeRules("/home/ada", { DOCKER_HOST: "tcp://docker.example:1/x" });
    assert.deepEqual(remote.hide, homeRules("/home/ada", {}).hide);
  });

  it("hides settings only if they contain a secret", async () => {
    await using home = await mkdtempDisposable(join(tmpdir(), "home-rules-"));
    const file = join(home.path, ".npmrc");
    await writeFile(file, "registry=https://npm.example/\n");
    assert.ok(!homeRules(home.path, {}).hide.includes(file));
    for (const secret of ["//npm.example/:_authToken=x", "proxy=http://ada:word@proxy.example"]) {
      await writeFile(file, `${secret}\n`);
      assert.ok(homeRules(home.path, {}).hide.includes(file), secret);
    }
  });
});

describe("cacheVariables()", () => {
  it("puts missing caches into /tmp, and leaves existing ones where they are", () => {
    const exists = (path: string): boolean => path === "/home/ada/.cache";
    const variables = cacheVariables("/home/ada", { CARGO_HOME: "/cargo" }, exists);
    assert.equal(variables.npm_config_cache, "/tmp/caches/npm");
    assert.equal(variables.XDG_CACHE_HOME, undefined);
    assert.equal(variables.CARGO_HOME, undefined);
  });
});
