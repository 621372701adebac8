import assert from "node:assert/strict";
import { statSync } from "node:fs";
import { describe, it } from "node:test";

import { SampleHome } from "../../../test/samples/sample-home.ts";
import { AppContext } from "../../config/app-context.ts";
import { openRuns } from "./open-runs.ts";

describe("openRuns()", () => {
  it("hides what it fetches and checks out from other users of the machine", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "remote": { "sandbox": "unsafe-off" } }`);
    const { config } = await home.load();
    await using _runs = await openRuns(new AppContext(config));
    assert.equal(statSync(config.data).mode & 0o777, 0o700);
  });

  it("judges a token by the address that git is given, and not by how it was written", async () => {
    await using home = await SampleHome.create();
    await home.write(home.userFile, `{ "remote": { "sandbox": "unsafe-off" } }`);
    await using runs = await openRuns(new AppContext((await home.load()).config));
    const limits = { repositories: ["https://git.example.com/acme/*"] };
    const place = (url: string): unknown => {
      const meta = { remote: { url, revision: "0".repeat(40) } };
      const { run } = runs.place(meta, { id: "token 1", limits }) ?? {};
      return (run as { readonly url?: string }).url;
    };
    const normal = "https://git.example.com/acme/app.git";
    assert.equal(place("https://GIT.example.com.:443/%61cme/app.git/"), normal);
    const others = [
      "https://git.example.com/acme/../evil/private.git",
      "https://git.example.com/acme/%2e%2e/evil/private.git",
      "https://git.example.com/acme%2f..%2f..%2fevil/private.git",
      "https://git.example.com:8443/acme/app.git",
      "https://evil.com/git.example.com/acme/app.git",
    ];
    for (const url of others) assert.throws(() => place(url), /Cannot work on|may not use/, url);
  });
});
