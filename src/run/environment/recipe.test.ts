import assert from "node:assert/strict";
import { describe, it } from "node:test";

import {
  type Recipe,
  recipeFor,
  type RepositorySetup,
  secretsFor,
  entryFor,
  workspaceFolder,
} from "./recipe.ts";

/** The recipe of a repository with these files. */
function recipe(
  files: Readonly<Record<string, string>>,
  repositories: Readonly<Record<string, RepositorySetup>>,
  from: readonly ("script" | "devcontainer")[] = ["script", "devcontainer"],
): Promise<Recipe | undefined> {
  const source = {
    url: "https://github.com/acme/app.git",
    folder: "/workspaces/app",
    variables: {},
    has: (path: string) => Object.hasOwn(files, path),
    read: async (path: string) => files[path] ?? "",
    parse: (_: string, text: string) => JSON.parse(text) as unknown,
  };
  return recipeFor(source, { repositories, from });
}

const SCRIPT = { ".trunkline/setup.sh": "echo" };
const DEVCONTAINER = { ".devcontainer.json": '{ "onCreateCommand": ["make", "deps"] }' };

describe("recipeFor()", () => {
  it("prefers the configured command, then the script, then the devcontainer", async () => {
    const files = { ...SCRIPT, ...DEVCONTAINER };
    const configured = await recipe(files, { "*": { command: "npm ci" } });
    assert.deepEqual(configured?.steps[0]?.commands, [["/bin/sh", "-c", "npm ci"]]);
    assert.equal((await recipe(files, {}))?.title, "sh .trunkline/setup.sh");
    const { title, steps } = (await recipe(DEVCONTAINER, {})) ?? {};
    assert.equal(title, ".devcontainer.json: deps");
    assert.deepEqual(steps?.[0]?.commands, [["make", "deps"]]);
  });

  it("uses no script or devcontainer that is not allowed", async () => {
    assert.equal(await recipe(SCRIPT, {}, ["devcontainer"]), undefined);
    assert.equal(await recipe(DEVCONTAINER, {}, ["script"]), undefined);
    assert.equal(await recipe(SCRIPT, { "github.com/other/*": { command: "x" } }, []), undefined);
  });

  it("applies the configured options to the repository's own commands", async () => {
    const setup = { env: { A: "1" }, secrets: ["TOKEN"], timeout: 5_000 };
    const found = await recipe(SCRIPT, { "github.com/acme/*": setup });
    assert.deepEqual(found?.env, { A: "1" });
    assert.deepEqual(found?.secrets, ["TOKEN"]);
    assert.equal(found?.timeout, 5_000);
  });
});

describe("entryFor()", () => {
  it("finds a repository by any of its addresses", () => {
    const repositories = { "github.com/acme/app": { command: "one" }, "*": { command: "other" } };
    const named = [
      "https://github.com/acme/app.git",
      "https://user:word@GitHub.com/acme/app/",
      "ssh://git@github.com:22/acme/app.git",
      "git@github.com:acme/app",
    ];
    for (const url of named) assert.equal(entryFor(url, repositories)?.command, "one", url);
    assert.equal(entryFor("https://github.com/acme/apple", repositories)?.command, "other");
  });
});

describe("the settings of a repository", () => {
  it("are for nobody else's, however the address is written", () => {
    const repositories = { "*.corp/acme/*": {}, "git.corp:2222/acme/*": {}, "/srv/acme/*": {} };
    const others = [
      ...["https://git.corp/acme/../evil/private.git", "https://git.corp/acme/%2e%2e/evil"],
      ...[
        "git@git.corp:acme/../evil",
        "https://evil.com/git.corp/acme/x",
        "https://git.corp//acme/x",
      ],
      ...["https://git.corp:8443/acme/x", "ssh://git@git.corp:2223/acme/x", "eve@git.corp:acme/x"],
      ...["https://git.corp@evil.com/acme/x", "/srv/acme/../evil", "https://srv/acme/x"],
    ];
    for (const url of others) assert.equal(entryFor(url, repositories), undefined, url);
    const own = [
      ...["https://git.corp./acme/x", "git@git.corp:acme/x", "ssh://eve@git.corp/acme/x"],
      ...["ssh://git@git.corp:2222/acme/x", "/srv/acme/x", "https://GIT.corp:443/acme/x.git"],
    ];
    for (const url of own) assert.ok(entryFor(url, repositories), url);
    assert.ok(entryFor("https://git.corp/a", { "git.corp*": {} }));
    assert.equal(entryFor("https://git.corp.evil/a", { "git.corp*": {} }), undefined);
  });
});

describe("workspaceFolder()", () => {
  it("is named after the repository, and never leaves /workspaces", () => {
    assert.equal(workspaceFolder("https://github.com/acme/my.app.git"), "/workspaces/my.app");
    for (const url of ["https://h/a/..", "https://h/", "git@h:a b", "file:///.git"]) {
      assert.equal(workspaceFolder(url), "/workspaces/repository", url);
    }
  });
});

describe("secretsFor()", () => {
  it("names the secret that is not set", async () => {
    const needs = { secrets: ["A", "B"] } as unknown as Recipe;
    assert.deepEqual(await secretsFor(needs, async (name) => `${name}!`), { A: "A!", B: "B!" });
    const onlyA = async (name: string): Promise<string> => (name === "A" ? "1" : "");
    await assert.rejects(secretsFor(needs, onlyA), /secret 'B' .* `trunkline model key set B`/);
  });
});
