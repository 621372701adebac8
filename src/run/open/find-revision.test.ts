import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { pathToFileURL } from "node:url";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { OWNER } from "../../base/principal.ts";
import { AppContext } from "../../config/app-context.ts";
import { findRevision } from "./find-revision.ts";

describe("findRevision() for a person", () => {
  it("reaches an address by the protocols of remote runs only", async () => {
    await using home = await SampleHome.create();
    using repository = mkdtempDisposableSync(join(tmpdir(), "find-revision-"));
    execFileSync("git", ["init", "--quiet", "--bare", repository.path]);
    const url = pathToFileURL(repository.path).href;
    const usual = new AppContext((await home.load()).config);
    for (const isHere of [true, false]) {
      await assert.rejects(
        findRevision(usual, url, "main", "/", { isHere }),
        /only https and ssh|'file' not allowed/,
      );
    }
    await home.write(home.userFile, `{ "remote": { "protocols": ["file"] } }`);
    const allowed = new AppContext((await home.load()).config);
    await assert.rejects(findRevision(allowed, url, "main", "/", { isHere: true }), /'main'/);
  });
});

describe("findRevision() for a principal of a gateway", () => {
  it("asks no host that a remote run could not fetch from, whoever it is for", async () => {
    await using home = await SampleHome.create();
    const app = new AppContext((await home.load()).config);
    const limits = { repositories: ["https://git.example.com/acme/*"] };
    const limited = { id: "token 1", limits };
    const refused = [
      [OWNER, "https://127.0.0.1:9/a.git", /not a public address/],
      [OWNER, "https://[::1]/a.git", /not a public address/],
      [OWNER, "file:///etc", /only https and ssh addresses/],
      [OWNER, "ext::sh -c id", /Cannot work on/],
      [OWNER, "https://me:secret@git.example.com/a.git", /contains a password/],
      [limited, "https://git.example.com/acme/../evil/a.git", /Cannot work on|may not use/],
      [limited, "https://evil.example/acme/a.git", /may not use the repository/],
    ] as const;
    for (const [principal, url, says] of refused) {
      await assert.rejects(findRevision(app, url, "main", "/", { principal }), says, url);
    }
  });
});
