import assert from "node:assert/strict";
import { join } from "node:path";
import { describe, it } from "node:test";

import { SampleCommandLine } from "../../../test/samples/sample-command-line.ts";
import {
  gitHubComment,
  gitLabNote,
  SampleForge,
} from "../../../test/samples/sample-forge-reviews.ts";

const TOKEN = "s3cret-t0ken";

/** A repository with a change that is committed, and an identity for the forge. */
async function setUp(
  forge: SampleForge,
  provider: "github" | "gitlab",
  host = forge.host,
): Promise<SampleCommandLine> {
  const tokenSource = { kind: "environment", variable: "FORGE_TOKEN" };
  const work = { provider, host, user: "ada", email: "ada@example.org", tokenSource };
  const line = await SampleCommandLine.create({ identities: { work } });
  line.env.FORGE_TOKEN = TOKEN;
  await line.home.write(join(line.home.project, "a.txt"), "one\nline two\nthree\n");
  line.git("add", "a.txt");
  line.git("commit", "--quiet", "--message=x");
  return line;
}

interface Shown {
  readonly id: string;
  readonly state: string;
  readonly line?: number;
  readonly by: string;
  readonly comment: string;
}

const listed = async (line: SampleCommandLine): Promise<readonly Shown[]> =>
  (await line.json<{ threads: Shown[] }>("review", "list", "--all")).threads;

const pullOn = (forge: SampleForge): string => `http://${forge.host}/octocat/hello/pull/12`;

describe("trunkline review import --github", () => {
  it("opens the threads of a pull request, page by page, with replies and states", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    const head = line.git("rev-parse", "HEAD");
    forge.comments = [
      gitHubComment({ id: 1, body: "Why two?", commit_id: head }),
      gitHubComment({ id: 2, body: "Resolved", line: null, original_line: 2 }),
      gitHubComment({
        id: 3,
        body: "Because",
        in_reply_to_id: 1,
        created_at: "2024-05-02T10:00:00Z",
      }),
      gitHubComment({ id: 4, body: "Whole file", subject_type: "file", line: 1 }),
      gitHubComment({ id: 5, body: "Removed", side: "LEFT" }),
    ];
    forge.resolved.add(2);
    const first = await line.run("review", "import", "--github", pullOn(forge));
    assert.equal(first.err, "");
    assert.equal(first.out, "Opened 4 threads.\n");
    const threads = await listed(line);
    assert.deepEqual(
      threads.map(({ comment, state, line: at, by }) => [comment, state, at, by]),
      [
        ["Why two?", "open", 2, "octocat"],
        ["Resolved", "resolved", 2, "octocat"],
        ["Whole file", "open", undefined, "octocat"],
        ["Removed", "open", 2, "octocat"],
      ],
    );
    const shown = await line.run("review", "show", threads[0]?.id ?? "");
    assert.match(shown.out, /octocat replied, .*:\n {2}Because/);
    // Again, with one more reply, and with another thread resolved.
    forge.comments.push(gitHubComment({ id: 6, body: "And now?", in_reply_to_id: 1 }));
    forge.resolved.add(5);
    forge.resolved.delete(2);
    const again = await line.run("review", "import", pullOn(forge));
    assert.equal(again.out, "Opened 0 threads; 4 existed already; 1 new reply.\n");
    const states = (await listed(line)).map(({ state }) => state);
    assert.deepEqual(states, ["open", "reopened", "open", "resolved"]);
    assert.ok(forge.asked.every(({ token }) => token === TOKEN));
  });

  it("imports all but a bad thread, and says why", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    forge.comments = [
      gitHubComment({ id: 1, path: "../../etc/passwd" }),
      gitHubComment({ id: 2, path: ".git/hooks/pre-commit" }),
      gitHubComment({ id: 3, body: null }),
      gitHubComment({ id: 4, created_at: "yesterday" }),
      { nonsense: true },
      gitHubComment({ id: 5, path: "gone.txt", body: "Good" }),
      gitHubComment({ id: 6, user: null, body: "Good, too" }),
    ];
    const { code, out, err } = await line.run("review", "import", pullOn(forge));
    assert.equal(code, 0);
    assert.equal(out, "Opened 2 threads; refused 5.\n");
    assert.match(err, /passwd .*not on a file of the repository/);
    assert.match(err, /\.git\/hooks\/pre-commit .*not on a file of the repository/);
    assert.match(err, /thread 3: it has no text/);
  });

  it("sends a token to the host of its identity only", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github", "github.com");
    forge.comments = [gitHubComment({ id: 1 })];
    const { err, code } = await line.run("review", "import", pullOn(forge));
    assert.equal(code, 0);
    assert.match(err, /No identity has a token for 127\.0\.0\.1:\d+\./);
    const named = await line.run("review", "import", pullOn(forge), "--identity", "work");
    assert.match(named.err, /its token is for github\.com, and not for 127\.0\.0\.1/);
    const posting = await line.run("review", "export", "--github", pullOn(forge));
    assert.equal(posting.code, 1);
    assert.ok(forge.asked.every(({ token }) => token === undefined));
    await using own = await setUp(forge, "github");
    forge.instead = (_, response) => {
      const link = '<https://evil.example/api/v3/next>; rel="next"';
      return response.writeHead(200, { link }).end("[]") !== undefined;
    };
    const elsewhere = await own.run("review", "import", pullOn(forge));
    assert.match(elsewhere.err, /next page at another address/);
  });

  it("says what a refusal of the forge means", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    const cases: [number, Record<string, string>, RegExp][] = [
      [401, {}, /answered 401: no\. The token is not accepted/],
      [404, {}, /answered 404: no\. The repository does not exist, or the token may not read it/],
      [
        403,
        { "x-ratelimit-remaining": "0", "x-ratelimit-reset": "1700000000" },
        /It limits requests: try again after 2023-11-14T22:13:20\.000Z/,
      ],
      [429, { "retry-after": "60" }, /It limits requests: try again in 60 seconds/],
      [500, {}, /answered 500: no\./],
    ];
    for (const [status, headers, says] of cases) {
      forge.instead = (_, response) =>
        response.writeHead(status, headers).end('{"message":"no"}') !== undefined;
      const { code, err } = await line.run("review", "import", pullOn(forge));
      assert.equal(code, 1);
      assert.match(err, says);
      assert.ok(!err.includes(TOKEN));
    }
  });
});

describe("trunkline review export --github", () => {
  it("posts replies once, resolves and reopens, and posts nothing on a dry run", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    forge.comments = [gitHubComment({ id: 1 }), gitHubComment({ id: 2, body: "Other" })];
    await line.run("review", "import", pullOn(forge));
    await line.run("review", "add", "--file", "a.txt", "-c", "Private");
    const [first, other] = await listed(line);
    await line.run("review", "reply", first?.id ?? "", "-c", "Done @octocat");
    await line.run("review", "resolve", other?.id ?? "");
    const dry = await line.run("review", "export", "--github", pullOn(forge), "--dry-run");
    assert.match(dry.out, /Done @octocat\n\nWould post 1 replies, resolve 1, reopen 0 on /);
    assert.equal(forge.comments.length, 2);
    const posted = await line.run("review", "export", "--github", pullOn(forge));
    assert.match(posted.out, /Posted 1 replies, resolved 1, reopened 0 on /, posted.err);
    assert.equal(forge.comments.length, 3);
    assert.match(
      String(forge.comments[2]?.body),
      /^Done @octocat\n\n<!-- trunkline:r\w+\/\d+ -->$/,
    );
    assert.equal(forge.comments[2]?.in_reply_to_id, 1);
    assert.deepEqual([...forge.resolved], [2]);
    const again = await line.run("review", "export", "--github", pullOn(forge));
    assert.match(again.out, /Posted 0 replies, resolved 0, reopened 0/);
    await line.run("review", "reopen", other?.id ?? "");
    await line.run("review", "export", "--github", pullOn(forge));
    assert.deepEqual([...forge.resolved], []);
    const shown = await line.run("review", "show", first?.id ?? "");
    assert.equal(shown.out.match(/Done @octocat/g)?.length, 1, "its own comment did not come back");
  });

  it("recognises a reply that it posted but could not note", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    forge.comments = [gitHubComment({ id: 1 })];
    await line.run("review", "import", pullOn(forge));
    const [thread] = await listed(line);
    await line.run("review", "reply", thread?.id ?? "", "-c", "Done");
    // The answer is lost: the comment is there, and nobody here knows.
    forge.instead = ({ method, body }, response) => {
      if (method !== "POST" || body.body === undefined) return false;
      const own = { id: 77, body: body.body, in_reply_to_id: 1, user: { login: "ada" } };
      forge.comments.push(gitHubComment(own));
      response.destroy();
      return true;
    };
    const lost = await line.run("review", "export", "--github", pullOn(forge));
    assert.equal(lost.code, 1);
    forge.instead = () => false;
    const again = await line.run("review", "export", "--github", pullOn(forge));
    assert.match(again.out, /Posted 0 replies/);
    assert.equal(forge.comments.length, 2);
  });
});

describe("trunkline review import and export --gitlab", () => {
  it("opens discussions of a merge request, and answers them", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "gitlab");
    const id = "87805b7c09016a7058e91bdbe7b29d1f284a39e6";
    const general = gitLabNote({ id: 3, type: null, position: null, resolvable: false });
    forge.discussions = [
      { id, individual_note: false, notes: [gitLabNote({ id: 1 }), gitLabNote({ id: 2 })] },
      { id: "aa", individual_note: true, notes: [general] },
      { id: "bb", individual_note: true, notes: [gitLabNote({ id: 4, system: true })] },
    ];
    const merge = `http://${forge.host}/group/sub/hello/-/merge_requests/12`;
    const first = await line.run("review", "import", "--gitlab", merge);
    assert.equal(first.out, "Opened 1 thread; left out 1 on no file.\n", first.err);
    const [thread] = await listed(line);
    assert.equal(thread?.line, 2);
    await line.run("review", "resolve", thread?.id ?? "", "-c", "Fixed");
    const posted = await line.run("review", "export", "--gitlab", merge);
    assert.match(posted.out, /Posted 1 replies, resolved 1/, posted.err);
    const [discussion] = forge.discussions as { notes: { body: string; resolved: boolean }[] }[];
    assert.match(discussion?.notes[2]?.body ?? "", /^Fixed\n\n<!--/);
    assert.equal(discussion?.notes[0]?.resolved, true);
    assert.ok(
      forge.asked.every(({ url }) => url.startsWith("/api/v4/projects/group%2Fsub%2Fhello/")),
    );
  });
});

describe("trunkline review export --new", () => {
  const own = async (line: SampleCommandLine, at: string, comment: string): Promise<string> => {
    const args = ["--file", "a.txt", "--line", at, "-c", comment, "--as", "Ada"];
    return (await line.json<{ id: string }>("review", "add", ...args)).id;
  };
  const asAda = ["--new", "--as", "Ada"];

  it("posts a person's own comments at the lines of the pull request, each once", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    forge.head = line.git("rev-parse", "HEAD");
    const id = await own(line, "2", "Louder?");
    await line.run("review", "add", "--file", "a.txt", "-c", "Not mine", "--as", "Bob");
    // What is not committed moves the line here, and not in the pull request.
    await line.home.write(join(line.home.project, "a.txt"), "zero\none\nline two\nthree\n");
    const posting = ["review", "export", "--github", pullOn(forge), ...asAda];
    const unasked = await line.run(...posting);
    assert.equal(unasked.code, 2);
    assert.match(unasked.err, /a\.txt:2\nLouder\?[^]*Post 1 comment on .*: add --yes/);
    const dry = await line.run(...posting, "--dry-run");
    assert.match(dry.out, /^Would post 1 comment, 0 replies/);
    assert.deepEqual(forge.comments, []);
    const posted = await line.run(...posting, "--yes");
    assert.match(posted.out, /^Posted 1 comment, 0 replies/);
    const [comment = {}]: Record<string, unknown>[] = forge.comments;
    const { body, path, line: at, side, commit_id } = comment;
    assert.deepEqual([path, at, side, commit_id], ["a.txt", 2, "RIGHT", forge.head]);
    assert.match(String(body), new RegExp(`^Louder\\?\\n\\n<!-- trunkline:${id}/\\d+ -->$`));
    assert.match((await line.run(...posting, "--yes")).out, /^Posted 0 comments/);
    assert.equal(forge.comments.length, 1);
  });

  it("imports the answers of others, and posts replies", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    forge.head = line.git("rev-parse", "HEAD");
    const id = await own(line, "2", "Louder?");
    const posting = ["review", "export", "--github", pullOn(forge), ...asAda, "--yes"];
    await line.run(...posting);
    const first = Number(forge.comments[0]?.id);
    const created_at = new Date(Date.now() + 60_000).toISOString();
    forge.comments.push(gitHubComment({ id: 7, body: "Why?", in_reply_to_id: first, created_at }));
    assert.match((await line.run("review", "import", pullOn(forge))).out, /1 new reply/);
    assert.deepEqual(
      (await listed(line)).map((thread) => [thread.id, thread.by]),
      [[id, "Ada"]],
    );
    assert.match((await line.run("review", "show", id)).out, /octocat replied, .*:\n {2}Why\?/);
    await line.run("review", "reply", id, "-c", "Nobody hears it", "--as", "Ada");
    await line.run(...posting);
    assert.deepEqual(
      forge.comments.map(({ in_reply_to_id: to }) => to),
      [undefined, first, first],
    );
  });

  it("recognises a comment whose posting was not noted, but none that copies its mark", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    forge.head = line.git("rev-parse", "HEAD");
    const id = await own(line, "2", "Louder?");
    forge.comments = [
      gitHubComment({ id: 1, body: `Something else <!-- trunkline:${id}/1 -->` }),
      gitHubComment({ id: 2, body: `Louder?\n\n<!-- trunkline:${id}/1 -->` }),
      gitHubComment({ id: 3, body: `Louder?\n\n<!-- trunkline:${id}/1 -->` }),
    ];
    const posted = await line.run(
      ...["review", "export", "--github", pullOn(forge), ...asAda, "--yes"],
    );
    assert.match(posted.out, /^Posted 0 comments/);
    assert.deepEqual(
      (await listed(line)).map(({ by }) => by),
      ["Ada", "octocat", "octocat"],
    );
  });

  it("says which comments the pull request does not take", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "github");
    forge.head = line.git("rev-parse", "HEAD");
    const outside = await own(line, "3", "Not in the diff");
    await line.home.write(join(line.home.project, "a.txt"), "one\nline two\nthree\nmy own words\n");
    const unknown = await own(line, "4", "Not pushed");
    const posting = ["review", "export", "--github", pullOn(forge), ...asAda, "--yes"];
    const { code, err } = await line.run(...posting);
    assert.equal(code, 1);
    assert.match(err, new RegExp(`Cannot post ${outside}: .* answered 422`));
    assert.match(
      err,
      new RegExp(`Cannot post ${unknown} on a\\.txt: .* does not have these lines`),
    );
    forge.head = "0".repeat(40);
    const missing = await line.run(...posting);
    assert.match(missing.err, /its commit 0{40} is not in this repository\. Fetch it\./);
  });

  it("opens discussions of a merge request", async () => {
    await using forge = await SampleForge.start();
    await using line = await setUp(forge, "gitlab");
    forge.head = line.git("rev-parse", "HEAD");
    await own(line, "2", "Louder?");
    const merge = `http://${forge.host}/group/sub/hello/-/merge_requests/12`;
    const posting = ["review", "export", "--gitlab", merge, ...asAda, "--yes"];
    assert.match((await line.run(...posting)).out, /^Posted 1 comment, /);
    assert.match((await line.run(...posting)).out, /^Posted 0 comments, /);
    const position = { new_path: "a.txt", new_line: 2 };
    assert.partialDeepStrictEqual(forge.discussions, [{ notes: [{ position }] }]);
  });
});
