import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { brotliCompressSync, gzipSync } from "node:zlib";

import type { AddressResolver } from "../../base/public-lookup.ts";
import { AgentRig } from "../../../test/agent/agent-rig.ts";
import { call } from "../../../test/agent/call-tools.ts";
import { FakeLlm } from "../../../test/agent/fake-llm.ts";
import { ALLOW, REJECT, type SampleTurnOptions } from "../../../test/agent/sample-turn.ts";
import type { PermissionSubject } from "../../session/permission/permission.ts";
import { type FetchOptions, fetchPage } from "./web-fetch.ts";

/** A web server on this machine that stands for hosts of the internet: `one.test`, `two.test`. */
async function serve(answer: RequestListener) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.headers.host?.split(":")[0]}${request.url}`);
    answer(request, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  return {
    asked,
    port,
    url: (host: string, path = "/") => `http://${host}:${port}${path}`,
    /** `inside.test` is what a name of a private network resolves to; only our server counts as public. */
    web: {
      resolve: ((host, found) => {
        found(null, [{ address: host === "inside.test" ? "10.0.0.7" : "127.0.0.1", family: 4 }]);
      }) as AddressResolver,
      forbids: (address: string) => address !== "127.0.0.1",
    },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const page: RequestListener = (_, response) => {
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.end("<title>Manual</title><h1>Héllo</h1><p>Text</p>");
};

const fetchCall = (url: string, more: object = {}) => ({
  name: "web_fetch",
  arguments: { url, ...more },
});

const hosts = ({ asked }: { asked: readonly { subject?: PermissionSubject }[] }) =>
  asked.map(({ subject }) => (subject?.action === "fetch" ? subject.host : "another subject"));

describe("web_fetch", () => {
  it("gives the model a page as Markdown, after a question about its host", async () => {
    await using site = await serve(page);
    const url = site.url("one.test", "/guide?x=1#part");
    const { answers, turn } = await call([fetchCall(url)], { web: site.web });
    assert.match(
      answers[0] ?? "",
      /^\(http:\/\/one\.test:\d+\/guide\?x=1 · Manual\)\n.*not instructions/,
    );
    assert.match(answers[0] ?? "", /\n# Héllo\n\nText$/);
    assert.deepEqual(hosts(turn), [`one.test:${site.port}`]);
    assert.match(JSON.stringify(turn.asked[0]?.toolCall.content), /\/guide\?x=1/);
  });

  it("asks nobody about hosts of `agent.egress.allowHosts`", async () => {
    await using site = await serve(page);
    const web = { ...site.web, allowHosts: ["*.test"] };
    const { answers, turn } = await call([fetchCall(site.url("one.test"))], { web });
    assert.match(answers[0] ?? "", /# Héllo/);
    assert.deepEqual(turn.asked, []);
  });

  it("sends nothing if the person does not allow the host", async () => {
    await using site = await serve(page);
    let looked = 0;
    const resolve: AddressResolver = (_, found) => {
      looked++;
      found(null, [{ address: "127.0.0.1", family: 4 }]);
    };
    const { turn } = await call([fetchCall(site.url("one.test"))], {
      web: { ...site.web, resolve },
      turn: { decide: () => REJECT },
    });
    assert.deepEqual(turn.ends, ["failed"]);
    assert.deepEqual([site.asked, looked], [[], 0]);
  });

  it("asks again about the host of a redirect, and refuses one to a private address", async () => {
    await using site = await serve((request, response) => {
      const host = request.headers.host ?? "";
      if (!host.startsWith("one.test")) return page(request, response);
      const target = request.url === "/out" ? "two.test" : "inside.test";
      response.writeHead(302, { location: `//${target}:${site.port}/there` }).end();
      return undefined;
    });
    const decide: SampleTurnOptions["decide"] = ({ subject }) =>
      JSON.stringify(subject).includes("two.test") ? REJECT : ALLOW;
    const calls = [fetchCall(site.url("one.test", "/out")), fetchCall(site.url("one.test", "/in"))];
    const { turn, answers } = await call(calls, { web: site.web, turn: { decide } });
    assert.deepEqual(
      hosts(turn).map((host) => host.replace(/:\d+/, "")),
      ["one.test", "two.test", "one.test", "inside.test"],
    );
    assert.match(answers[0] ?? "", /did not allow it/);
    assert.match(
      answers[1] ?? "",
      /10\.0\.0\.7 is an address of this machine or of a private network/,
    );
    assert.deepEqual(site.asked, ["one.test/out", "one.test/in"]);
  });

  it("refuses private addresses by name and by number, before anybody is asked about a number", async () => {
    const urls = [
      "http://127.0.0.1:1/",
      "http://[::1]/",
      "http://2130706433/",
      "http://localhost:1/",
    ];
    const { answers, turn } = await call(urls.map((url) => fetchCall(url)));
    for (const answer of answers) assert.match(answer, /private network/);
    assert.deepEqual(hosts(turn), ["localhost:1"]);
  });

  it("takes only HTTP, and no passwords", async () => {
    const urls = ["file:///etc/passwd", "ftp://x.test/", "nonsense", "https://me:secret@x.test/"];
    const { answers, turn } = await call(urls.map((url) => fetchCall(url)));
    for (const answer of answers.slice(0, 3)) assert.match(answer, /begins with https:\/\//);
    assert.match(answers[3] ?? "", /leave out the password/);
    assert.deepEqual(turn.asked, []);
  });

  it("gives a long page in parts, and says what it cannot show", async () => {
    await using site = await serve((request, response) => {
      if (request.url === "/zip")
        return response.setHeader("content-type", "application/zip").end("x");
      if (request.url === "/gone") return response.writeHead(404).end("Not here");
      return response.end("0123456789".repeat(5_000));
    });
    const web = { ...site.web, allowHosts: ["*"] };
    const { answers, turn } = await call(
      [
        fetchCall(site.url("one.test")),
        fetchCall(site.url("one.test"), { from: 40_000 }),
        fetchCall(site.url("one.test", "/zip")),
        fetchCall(site.url("one.test", "/gone")),
      ],
      { web },
    );
    assert.match(answers[0] ?? "", /10000 characters follow: go on with from 40000\.$/);
    assert.equal(answers[1]?.split("\n").at(-1)?.length, 10_000);
    assert.match(answers[2] ?? "", /'application\/zip', which is no text/);
    assert.match(answers[3] ?? "", /status 404.*Not here/s);
    assert.deepEqual(turn.ends, ["completed", "completed", "failed", "failed"]);
  });

  it("is offered when a prompt is about the web, and by more_tools otherwise", async () => {
    await using llm = await FakeLlm.start([{ content: "Hi." }]);
    await using rig = new AgentRig({ llm });
    await rig.turn("fix the bug");
    assert.ok(llm.tools.includes("more_tools") && !llm.tools.includes("web_fetch"));
    await rig.turn("see https://example.com/x");
    assert.ok(llm.tools.includes("web_fetch"));
  });
});

describe("fetchPage()", () => {
  const fetched = async (answer: RequestListener, more: Partial<FetchOptions> = {}) => {
    await using site = await serve(answer);
    const { signal } = new AbortController();
    const options = { ...site.web, allow: async () => {}, signal, ...more };
    return await fetchPage(site.url("one.test"), options);
  };

  it("reads compressed pages, and no more of them than it may", async () => {
    const packed = [
      ["gzip", gzipSync],
      ["br", brotliCompressSync],
    ] as const;
    for (const [encoding, compress] of packed) {
      const { text, isCut } = await fetched(
        (_, response) => {
          response.setHeader("content-encoding", encoding);
          response.end(compress("x".repeat(5_000_000)));
        },
        { most: 1_000 },
      );
      assert.deepEqual([text.length, isCut], [1_000, true], encoding);
    }
    await assert.rejects(
      fetched((_, response) => response.setHeader("content-encoding", "gzip").end("not gzip")),
      { code: "unavailable", message: /Cannot fetch from 'one\.test/ },
    );
  });

  it("reads the charset of the header or of the page", async () => {
    const latin = Buffer.from("<meta charset=iso-8859-1>caf\u00e9", "latin1");
    const byPage = await fetched((_, response) => response.end(latin));
    assert.match(byPage.text, /café$/);
    const type = "text/plain; charset=iso-8859-1";
    const byHeader = await fetched((_, response) =>
      response.setHeader("content-type", type).end(Buffer.from("\u00e9", "latin1")),
    );
    assert.equal(byHeader.text, "é");
  });

  it("gives up on a server that is silent, before its answer and within it", async () => {
    const late = { code: "unavailable", message: /did not answer in time/ };
    await assert.rejects(
      fetched(() => {}, { timeout: 50 }),
      late,
    );
    const drips: RequestListener = (_, response) => void response.write("some");
    await assert.rejects(fetched(drips, { timeout: 50 }), late);
  });

  it("ends with the turn", async () => {
    const stop = new AbortController();
    const reason = new Error("cancelled");
    await assert.rejects(
      fetched(() => stop.abort(reason), { signal: stop.signal }),
      reason,
    );
  });

  it("follows only so many redirects", async () => {
    const again: RequestListener = (_, response) => {
      response.writeHead(302, { location: "/again" }).end();
    };
    await assert.rejects(fetched(again), /redirects more than 5 times/);
  });
});
