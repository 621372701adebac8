import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { type Principal, OWNER } from "../base/principal.ts";
import { Resources } from "./offer/resources.ts";
import { SampleContext, sampleTool } from "../../test/samples/sample-context.ts";
import { textOf, toolbox } from "../../test/samples/sample-toolbox.ts";
import { type Arguments, textResult } from "./tool.ts";
import { mayHave } from "./policy.ts";
import { Toolbox } from "./toolbox.ts";

const plain = sampleTool("plain", () => textResult("done"));
const review = { ...sampleTool("review_list", () => textResult("done")), scope: "review" } as const;

function token(more: Partial<Principal>): Principal {
  return { id: "token 1", name: "ci", scopes: ["tools"], ...more };
}

describe("the tools that a principal may call", () => {
  it("are our own that only read, for one that may only watch", async () => {
    const reads = sampleTool("reads", () => textResult("done"));
    const definition = { ...reads.definition, annotations: { readOnlyHint: true } };
    const source = { server: "other", name: "says_so" };
    const other = { ...sampleTool("says_so", () => textResult("done")), source };
    const claims = {
      ...other,
      definition: { ...other.definition, ...definition, name: "says_so" },
    };
    const { box } = toolbox([plain, { ...reads, definition }, claims]);
    const principal = token({ limits: { observe: true } });
    assert.deepEqual(
      box.list(principal).map((tool) => tool.definition.name),
      ["reads"],
    );
    const call = async (name: string) =>
      String(textOf(await box.call(name, {}, new SampleContext({ caller: { principal } }))));
    assert.equal(await call("reads"), "done");
    assert.match(await call("plain"), /may not use the tool 'plain', since it may only watch/);
    assert.match(await call("says_so"), /may not use the tool 'says_so'/);
  });

  it("are those of its token, in lists and in calls, and a refusal is recorded", async () => {
    const { box, entries } = toolbox([plain, review]);
    const names = (principal?: Principal) =>
      box.list(principal).map(({ definition }) => definition.name);
    const call = async (name: string, principal: Principal) =>
      String(textOf(await box.call(name, {}, new SampleContext({ caller: { principal } }))));
    assert.deepEqual(names(OWNER), ["plain", "review_list"]);
    assert.deepEqual(names(token({})), ["plain"]);
    assert.deepEqual(names(token({ scopes: ["review"] })), ["review_list"]);
    assert.deepEqual(names(token({ scopes: [] })), []);
    assert.equal(await call("plain", token({})), "done");
    assert.match(
      await call("review_list", token({})),
      /'review_list' needs the scope 'review', which 'ci' lacks.*token create NAME --scope review/,
    );
    const limited = token({ scopes: ["tools", "review"], limits: { tools: ["review_*"] } });
    assert.deepEqual(names(limited), ["review_list"]);
    assert.match(await call("plain", limited), /'ci' may not use the tool 'plain'.*--tool plain/);
    assert.deepEqual(
      entries.map(({ tool, outcome }) => `${tool} ${outcome}`),
      ["plain ok", "review_list refused", "plain refused"],
    );
  });

  it("include no tool of another program if it is limited to folders, unless that is named", () => {
    const foreign = { ...sampleTool("write_file", () => textResult("done")) };
    const placed = { ...sampleTool("placed", () => textResult("done")), project: {} };
    const { box } = toolbox([
      plain,
      placed,
      { ...foreign, source: { server: "files", name: "write_file" } },
    ]);
    const names = (limits: object) =>
      box.list(token({ limits })).map(({ definition }) => definition.name);
    assert.deepEqual(names({ folders: ["/srv"] }), ["placed"]);
    assert.deepEqual(names({ repositories: ["https://git.example.com/*"] }), ["placed"]);
    assert.deepEqual(names({ folders: ["/srv"], tools: ["write_*"] }), ["write_file"]);
    assert.deepEqual(names({ agents: ["a"] }), ["plain", "placed", "write_file"]);
    assert.equal(mayHave(token({ limits: { folders: ["/srv"] } })), false);
  });

  it("are called about no folder by nobody who is limited to folders, unless it is named", async () => {
    const need = ({ identity }: Arguments) => (identity === undefined ? "needed" : "unused");
    const { box } = toolbox([
      { ...sampleTool("either", () => textResult("done")), project: { argument: "at", need } },
    ]);
    const call = async (args: object, limits: object) => {
      const context = new SampleContext({ caller: { principal: token({ limits }) } });
      return String(textOf(await box.call("either", { ...args }, context)));
    };
    const folders = ["/srv"];
    assert.equal(await call({ at: "/srv/a" }, { folders }), "done");
    assert.match(await call({ identity: "work" }, { folders }), /what belongs to no folder/);
    assert.equal(await call({ identity: "work" }, { folders, tools: ["either"] }), "done");
    assert.equal(await call({ identity: "work" }, {}), "done");
  });

  it("are all tools of a toolbox that the caller itself brought", async () => {
    const box = new Toolbox({ isPrivate: true });
    box.add(plain);
    const principal = token({ scopes: ["sessions"], limits: { tools: [] } });
    assert.equal(box.list(principal).length, 1);
    const answer = await box.call("plain", {}, new SampleContext({ caller: { principal } }));
    assert.equal(textOf(answer), "done");
  });
});

describe("the resources that a principal may read", () => {
  it("are those of its scopes, and none if it is limited to tools", async () => {
    const resources = new Resources();
    const provider = (uri: string) => ({
      list: () => [{ uri, name: uri }],
      read: async (wanted: string) => (wanted === uri ? { contents: [{ uri }] } : undefined),
    });
    resources.add(provider("a:1"));
    resources.add({ ...provider("r:1"), scope: "review" });
    const uris = async (principal: Principal) =>
      (await resources.list(principal)).map(({ uri }) => uri);
    assert.deepEqual(await uris(OWNER), ["a:1", "r:1"]);
    assert.deepEqual(await uris(token({})), ["a:1"]);
    const limited = token({ scopes: ["tools", "review"], limits: { tools: ["*"] } });
    assert.deepEqual(await uris(limited), []);
    assert.equal(mayHave(limited), false);
    const read = (uri: string, principal: Principal) =>
      resources.read(uri, new SampleContext({ caller: { principal } }));
    assert.ok(await read("r:1", token({ scopes: ["review"] })));
    assert.equal(await read("r:1", token({})), undefined);
    assert.equal(await read("a:1", limited), undefined);
  });
});
