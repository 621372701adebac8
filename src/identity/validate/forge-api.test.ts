import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { setDefaultCACertificates } from "node:tls";

import { TestCa } from "../../../test/support/quic-certificates.ts";
import { type IdentitySettings, resolveIdentity } from "../identity.ts";
import { askForge } from "./forge-api.ts";

const of = (settings: IdentitySettings) => resolveIdentity("work", settings);

describe("askForge()", () => {
  it("uses the API of each forge, and of a self-hosted one on its own host", async (t) => {
    const asked: string[] = [];
    t.mock.method(globalThis, "fetch", async (url: string) => {
      asked.push(url);
      return Response.json({});
    });
    for (const settings of [
      { provider: "github" },
      { provider: "github", host: "git.acme.test:8443" },
      { provider: "gitlab" },
      { provider: "gitlab", host: "GitLab.acme.test" },
      { provider: "bitbucket" },
    ] as const) {
      await askForge(of(settings), "token");
    }
    assert.deepEqual(
      asked.filter((url) => url.endsWith("/user")),
      [
        "https://api.github.com/user",
        "https://git.acme.test:8443/api/v3/user",
        "https://gitlab.com/api/v4/user",
        "https://gitlab.acme.test/api/v4/user",
        "https://api.bitbucket.org/2.0/user",
      ],
    );
  });

  it("contacts no forge of an unknown kind", async () => {
    assert.equal(await askForge(of({ provider: "other", host: "x.invalid" }), "token"), undefined);
  });

  it("reports that a forge cannot be reached, without the token", async () => {
    const asked = askForge(of({ provider: "gitlab", host: "x.invalid" }), "glpat-secret-secret-1");
    await assert.rejects(asked, (error: Error & { code: string }) => {
      return error.code === "unavailable" && !/secret/.test(error.message);
    });
  });

  it("stops reading an endless answer", async () => {
    const ca = await TestCa.make("P-256");
    setDefaultCACertificates([ca.pem]);
    await using server = createServer(await ca.issue("localhost"), (_, response) => {
      const more = (): void => {
        while (response.write("x".repeat(64 * 1024))) continue;
      };
      response.on("drain", more);
      more();
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const host = `localhost:${(server.address() as AddressInfo).port}`;
    const asked = askForge(of({ provider: "github", host }), "token");
    await assert.rejects(asked, /it answered with more than 262144 bytes/);
    server.closeAllConnections();
  });
});
