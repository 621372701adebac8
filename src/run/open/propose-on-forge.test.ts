import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";

import { ForgeRequests } from "../../../test/support/git-rig/forge-requests.ts";
import { type IdentitySettings, resolveIdentity } from "../../identity/identity.ts";
import type { Proposal, ProposalResult } from "../pull-request.ts";
import { type ForgePolicy, proposeOnForge } from "./open-runs.ts";

const PROPOSAL: Omit<Proposal, "url"> = {
  head: "agent/a1",
  base: "main",
  isDraft: false,
  work: { session: "s1", since: "f".repeat(40), titles: ["Title"], commits: 1, stat: "" },
  signal: new AbortController().signal,
};

const POLICY: ForgePolicy = {
  allowHosts: [],
  allowPrivate: true,
  protocols: ["https", "ssh", "http"],
  forges: {},
};

interface Asked {
  readonly policy?: Partial<ForgePolicy>;
  readonly identity?: IdentitySettings;
  readonly token?: string | undefined;
}

const NO_TOKEN = "Identity 'work' has no token.";

/** Proposes with an identity that matches the address. */
function ask(url: string, { policy, identity, token }: Asked = {}): Promise<ProposalResult> {
  const author = { name: "Ada", email: "ada@example.com" };
  const propose = proposeOnForge({ ...POLICY, ...policy }, async () =>
    identity === undefined
      ? { credentials: { scope: "" }, author }
      : {
          credentials: {
            scope: "work",
            token,
            noToken: token === undefined ? NO_TOKEN : undefined,
          },
          author,
          identity: resolveIdentity("work", identity),
        },
  );
  return propose({ ...PROPOSAL, url });
}

function failed(result: ProposalResult): { why: string; page?: string | undefined } {
  assert.ok(result.state === "failed");
  return result;
}

describe("proposeOnForge()", () => {
  it("opens a pull request with the identity's token, on the remote's own host and port", async () => {
    const requests = new ForgeRequests();
    requests.of("acme/app");
    const tokens: unknown[] = [];
    await using server = createServer((request, response) => {
      tokens.push(request.headers.authorization);
      void requests.answer(request, response);
    }).listen(0, "127.0.0.1");
    await once(server, "listening");
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    const identity = { provider: "other", host: "127.0.0.1" } as const;
    const forges = { "127.0.0.1": "gitea" } as const;
    const url = `http://${host}/acme/app.git`;
    const result = await ask(url, { policy: { forges }, identity, token: "t0k3n" });
    assert.equal(result.state, "created");
    assert.deepEqual([...new Set(tokens)], ["token t0k3n"]);
    const inside = failed(
      await ask(url, { policy: { forges, allowPrivate: false }, identity, token: "t0k3n" }),
    );
    assert.match(inside.why, /not a public address. Set `remote\.allowPrivate`/);
    server.closeAllConnections();
  });

  it("says what is missing, and where to open the pull request by hand", async () => {
    const url = "git@github.com:acme/app.git";
    const page = "https://github.com/acme/app/pull/new/agent/a1";
    const none = failed(await ask(url));
    assert.match(none.why, /no identity matches .* `trunkline identity add`/);
    assert.equal(none.page, page);
    const without = failed(await ask(url, { identity: { provider: "github" } }));
    assert.equal(without.why, NO_TOKEN);
    assert.equal(without.page, page);
  });

  it("says which setting names the software of a host", async () => {
    const { why, page } = failed(await ask("https://git.corp:8443/acme/app.git"));
    assert.match(why, /'git\.corp:8443' is not known\. Set it in `remote\.forges`/);
    assert.equal(page, undefined);
    assert.match(failed(await ask("file:///srv/app.git")).why, /not on a forge/);
  });

  it("sends a token only to the host of the remote, even if its identity has another host", async () => {
    // An identity for github.com that a rule also applies to another host.
    const identity = { provider: "github", match: [{ host: "git.corp" }] } as const;
    const { why } = failed(await ask("git@git.corp:acme/app.git", { identity, token: "t0k3n" }));
    assert.match(why, /software of the forge 'git\.corp' is not known/);
  });

  it("finds the forge behind an SSH alias, and the port of its pages", async () => {
    const alias = { provider: "github", sshHost: "github-work" } as const;
    const { page } = failed(await ask("git@github-work:acme/app.git", { identity: alias }));
    assert.equal(page, "https://github.com/acme/app/pull/new/agent/a1");
    const lab = { provider: "gitlab", host: "lab.corp:8443" } as const;
    const other = failed(await ask("ssh://git@lab.corp:2222/a/b/app.git", { identity: lab }));
    assert.match(other.page ?? "", /^https:\/\/lab\.corp:8443\/a\/b\/app\/-\/merge_requests\/new/);
  });
});
