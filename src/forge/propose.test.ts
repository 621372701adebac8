import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { ForgeRequests } from "../../test/support/git-rig/forge-requests.ts";
import { ForgeHttp } from "./forge-http.ts";
import { apiOf, type Forge, type ForgeKind } from "./forge.ts";
import { Gitea } from "./gitea.ts";
import { GitHub } from "./github.ts";
import { GitLab } from "./gitlab.ts";
import { codeBlock, inertText, propose, type PullRequestSpec } from "./propose.ts";

/** The patterns that forges search text for, according to their documentation. */
const READ = [
  /(?<!\p{L})@[a-z0-9]/iu,
  /#\d/,
  /[!&%~$][\w"]/,
  /GH-\d/i,
  /[A-Z][A-Z0-9]+-\d/,
  /https?:\/\//,
  /^\s*\/\w/m,
];

describe("inertText()", () => {
  it("contains nothing that a forge acts on, and looks the same", () => {
    const hostile = [
      "Fixes #1 and closes acme/app#2, GH-3, JIRA-4",
      "@acme/admins, @ada: look",
      "resolves https://github.com/acme/app/issues/5",
      '!6 &7 %8 ~bug ~"two words" $9',
      "/merge",
      "  /approve",
      "/assign @eve",
    ].join("\n");
    const text = inertText(hostile);
    for (const pattern of READ) {
      assert.match(hostile, pattern, "the sample has it");
      assert.doesNotMatch(text, pattern);
    }
    assert.equal(text.replaceAll("\u2060", ""), hostile);
  });

  it("does not change ordinary text", () => {
    const plain = "Mend the test (100% done): a/b.ts, c & d – 3 × 4!";
    assert.equal(inertText(plain), plain);
  });

  it("removes invisible characters", () => {
    assert.equal(inertText("a\u202eb\u001b[2J\rc\u2028d"), "a b [2J c d");
  });

  it("takes no longer for a text of empty lines", () => {
    const lines = "\n".repeat(1_000_000);
    assert.equal(inertText(`${lines}x`), `${lines}x`);
    assert.equal(inertText(`${lines} /merge`), `${lines} \u2060/merge`);
  });
});

describe("codeBlock()", () => {
  it("cannot be closed by its content", () => {
    const block = codeBlock("a\n```\n# Title\n`````\nb");
    const [fence = "", ...rest] = block.split("\n");
    assert.match(fence, /^`{6}text$/);
    assert.equal(rest.at(-1), "``````");
    assert.equal(rest.slice(0, -1).filter((line) => /^`{6,}/.test(line)).length, 0);
  });
});

const OWNERS = { github: "acme", gitlab: "acme/tools/web", gitea: "acme" } as const;
const KINDS = { github: GitHub, gitlab: GitLab, gitea: Gitea } as const;
const AUTHORIZATION = { github: "Bearer t0k3n", gitlab: "Bearer t0k3n", gitea: "token t0k3n" };

const WANTED: PullRequestSpec = {
  head: "agent/a1",
  base: "",
  isDraft: false,
  work: {
    session: "s1",
    since: "f".repeat(40),
    titles: ["Mend the test"],
    commits: 1,
    stat: " a.ts | 2 +-\n 1 file changed",
  },
};

function worked(...titles: string[]): PullRequestSpec {
  return { ...WANTED, work: { ...WANTED.work, titles, commits: titles.length } };
}

/** A simulated forge with the repository `app`. */
class Rig implements AsyncDisposable {
  readonly api = new ForgeRequests();
  readonly #server: Server;
  readonly #kind: ForgeKind;

  private constructor(kind: ForgeKind) {
    this.#kind = kind;
    this.#server = createServer((request, response) => {
      if (request.headers.authorization === AUTHORIZATION[kind]) {
        void this.api.answer(request, response);
      } else response.writeHead(401).end('{"message":"Bad credentials"}');
    });
    this.api.of(`${OWNERS[kind]}/app`);
  }

  static async start(kind: ForgeKind): Promise<Rig> {
    const rig = new Rig(kind);
    rig.#server.listen(0, "127.0.0.1");
    await once(rig.#server, "listening");
    return rig;
  }

  get requests() {
    return this.api.of(`${OWNERS[this.#kind]}/app`);
  }

  forge(token = "t0k3n", timeout = 10_000): Forge {
    const host = `forge.test:${(this.#server.address() as AddressInfo).port}`;
    const owner = OWNERS[this.#kind];
    const api = apiOf(this.#kind, { scheme: "http", host });
    const Kind = KINDS[this.#kind];
    const addresses = async (): Promise<string[]> => ["127.0.0.1"];
    const headers = Kind.headersFor(token);
    return Kind.open(new ForgeHttp({ api, headers, addresses, timeout }), owner, "app");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, "close");
  }
}

for (const kind of ["github", "gitlab", "gitea"] as const) {
  describe(`propose() on ${kind}`, () => {
    it("opens one pull request for the default branch, and updates it", async () => {
      await using rig = await Rig.start(kind);
      rig.api.defaultBranch = "trunk";
      const first = await propose(rig.forge(), WANTED);
      assert.equal(first.state, "created");
      assert.equal(first.number, 1);
      assert.match(first.url, /^https:\/\/forge\.test\/acme\/.*1$/);
      const [request] = rig.requests;
      assert.equal(request?.base, "trunk");
      assert.equal(request.title, "Mend the test");
      const second = await propose(rig.forge(), worked("Mend the test", "Mend the docs"));
      assert.deepEqual(second, { ...first, state: "updated" });
      assert.equal(rig.requests.length, 1);
      assert.match(request.body, /1\. Mend the test\n2\. Mend the docs/);
    });

    it("finds the pull request by its number, even if its target branch was changed", async () => {
      await using rig = await Rig.start(kind);
      const { number } = await propose(rig.forge(), WANTED);
      for (const request of rig.requests) request.base = "release";
      const known = { ...worked("One", "Two"), known: number };
      assert.equal((await propose(rig.forge(), known)).state, "updated");
      assert.equal(rig.requests.length, 1);
    });

    it("opens a draft for the branch that was named", async () => {
      await using rig = await Rig.start(kind);
      await propose(rig.forge(), { ...WANTED, base: "release/2", isDraft: true });
      const [request] = rig.requests;
      assert.equal(request?.base, "release/2");
      assert.equal(request.isDraft, true);
      const again = await propose(rig.forge(), { ...WANTED, base: "release/2", isDraft: true });
      assert.equal(again.state, "updated");
    });

    it("opens no second pull request if the answer to the first was lost", async () => {
      for (const fault of ["lost", "silent"] as const) {
        await using rig = await Rig.start(kind);
        rig.api.fault = fault;
        // Of the answers that do come, none may be late on a busy machine.
        const { state, number } = await propose(rig.forge("t0k3n", 3_000), WANTED);
        assert.deepEqual([state, number], ["created", 1]);
        rig.api.fault = "none";
        assert.equal((await propose(rig.forge(), worked("A", "B"))).state, "updated");
        assert.equal(rig.requests.length, 1);
      }
    });

    it("does not use the pull request of another branch", async () => {
      await using rig = await Rig.start(kind);
      rig.api.isUnfiltered = true;
      await propose(rig.forge(), { ...WANTED, head: "agent/other" });
      assert.equal((await propose(rig.forge(), WANTED)).state, "created");
      assert.equal(rig.requests.length, 2);
    });

    it("does not reopen a closed pull request", async () => {
      await using rig = await Rig.start(kind);
      const { number } = await propose(rig.forge(), WANTED);
      for (const request of rig.requests) request.state = "closed";
      const calls = rig.api.calls.length;
      assert.equal((await propose(rig.forge(), worked("A"))).state, "closed");
      assert.equal((await propose(rig.forge(), { ...worked("A"), known: number })).state, "closed");
      const written = rig.api.calls.slice(calls).filter((call) => !call.startsWith("GET "));
      assert.deepEqual(written, []);
    });

    it("keeps text that people added to the description", async () => {
      await using rig = await Rig.start(kind);
      await propose(rig.forge(), WANTED);
      const [request] = rig.requests;
      assert.ok(request !== undefined);
      request.body = `Please read this first.\r\n\r\n${request.body}\r\n\r\nThank you.`;
      await propose(rig.forge(), worked("A", "B"));
      assert.match(request.body, /^Please read this first\.\n\n.*2\. B.*\n\nThank you\.$/s);
      request.body = "I have written this anew.";
      await propose(rig.forge(), worked("A", "B", "C"));
      assert.equal(request.body, "I have written this anew.");
    });

    it("reports the forge's message, without the token", async () => {
      await using rig = await Rig.start(kind);
      rig.api.fault = { status: 422, body: { message: "No commits between main and agent/a1" } };
      await assert.rejects(propose(rig.forge(), WANTED), /422: No commits between main/);
      await assert.rejects(propose(rig.forge("expired-t0k3n"), WANTED), (error: Error) => {
        assert.match(error.message, /401: Bad credentials\. The token is not accepted/);
        return !error.message.includes("t0k3n");
      });
    });
  });
}
