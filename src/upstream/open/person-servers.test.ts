import assert from "node:assert/strict";
import { mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";

import { PersonalServer } from "../../../test/upstream/personal-server.ts";
import { SampleContext, type SampleContextOptions } from "../../../test/upstream/sample-context.ts";
import { SmallIssuer } from "../../../test/upstream/small-issuer.ts";
import { until } from "../../../test/support/until.ts";
import { ANYONE, OWNER, type Principal } from "../../base/principal.ts";
import { AppContext } from "../../config/app-context.ts";
import { loadConfig } from "../../config/load.ts";
import { Profile } from "../../tool/profile/profile.ts";
import { ToolFault, type ToolContext } from "../../tool/tool.ts";
import type { AddressSettings } from "../settings.ts";
import { ServerLogins } from "./server-logins.ts";
import { openOffer } from "./upstreams.ts";

const ADA: Principal = { id: "token a1", name: "ada", person: "token ada", scopes: ["tools"] };
const ADA_TOO: Principal = { ...ADA, id: "token a2", name: "ada-phone" };
const BOB: Principal = { id: "oauth https://login.example bob", name: "bob", scopes: ["tools"] };

class Caller extends SampleContext implements ToolContext {
  override readonly caller: ToolContext["caller"];
  readonly profile?: Profile;

  constructor(principal: Principal, options: SampleContextOptions = {}, profile?: Profile) {
    super(options);
    this.caller = { door: "mcp", name: principal.name ?? "", principal, client: principal.id };
    if (profile !== undefined) this.profile = profile;
  }
}

/** A gateway with a server that each person uses with a login of their own. */
class Rig implements AsyncDisposable {
  readonly server: PersonalServer;
  readonly issuer: SmallIssuer;
  readonly #folder: Awaited<ReturnType<typeof mkdtempDisposable>>;

  private constructor(
    server: PersonalServer,
    issuer: SmallIssuer,
    folder: Awaited<ReturnType<typeof mkdtempDisposable>>,
  ) {
    this.server = server;
    this.issuer = issuer;
    this.#folder = folder;
  }

  static async open(): Promise<Rig> {
    const issuer = await SmallIssuer.open();
    const folder = await mkdtempDisposable(join(tmpdir(), "trunkline-"));
    process.env["TRUNKLINE_TOKEN_STORE"] = "file";
    process.env["TRUNKLINE_CONFIG"] = join(folder.path, "config.json");
    return new Rig(await PersonalServer.open(issuer.url), issuer, folder);
  }

  get settings(): AddressSettings {
    return { url: this.server.url, login: "each" };
  }

  get data(): string {
    return join(this.#folder.path, "data");
  }

  get logins(): ServerLogins {
    return new ServerLogins({ data: this.data, env: process.env });
  }

  async gateway(page = true) {
    const config = join(this.#folder.path, "config.json");
    await writeFile(
      config,
      JSON.stringify({ mcpServers: { mail: this.settings }, log: { level: "error" } }),
    );
    const flags = { config, data: this.data };
    const loaded = await loadConfig({ cwd: "/", env: {}, flags, ignoreProject: true });
    const opened = await openOffer(new AppContext(loaded.config));
    if (page) opened.offer.loginPage = (name) => `https://gateway.example/logins#${name}`;
    return opened;
  }

  /** What the login page does at its end. */
  async logIn({ person, id }: Principal, who: string, token = `token-of-${who}`): Promise<void> {
    this.server.people.set(token, who);
    const login = {
      server: this.server.url,
      issuer: this.issuer.url,
      tokenEndpoint: `${this.issuer.url}/token`,
      client: { id: "c", method: "none" as const },
      scopes: [],
      accessToken: token,
    };
    await this.logins.ofPerson(person ?? id, "mail", this.settings).write(login);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await this.issuer[Symbol.asyncDispose]();
    await this.#folder[Symbol.asyncDispose]();
  }
}

type Opened = Awaited<ReturnType<Rig["gateway"]>>;

async function toolsOf({ offer }: Opened, principal: Principal, profile?: Profile) {
  await offer.known(principal);
  const tools = offer.tools.listFor(new Caller(principal, {}, profile));
  return tools.map(({ definition }) => definition.name);
}

async function call({ offer }: Opened, name: string, caller: Caller, args = {}): Promise<string> {
  return String((await offer.tools.call(name, args, caller)).content[0]?.text);
}

describe("a server with a login of each person", { timeout: 60_000 }, () => {
  it("shares no connection, list, resource, prompt, instruction or search between two people", async () => {
    await using rig = await Rig.open();
    await rig.logIn(ADA, "ada");
    await rig.logIn(BOB, "bob");
    await using gateway = await rig.gateway();
    const { offer } = gateway;
    assert.deepEqual(await toolsOf(gateway, ADA), ["work", "only_ada"]);
    assert.deepEqual(await toolsOf(gateway, BOB), ["work", "only_bob"]);
    for (const [principal, who, other] of [
      [ADA, "ada", "bob"],
      [BOB, "bob", "ada"],
      [ADA_TOO, "ada", "bob"],
    ] as const) {
      const caller = new Caller(principal);
      assert.equal(await call(gateway, "work", caller), `done for ${who}`);
      await assert.rejects(call(gateway, `only_${other}`, caller), /Unknown tool/);
      const listed = await offer.resources.list(principal);
      assert.deepEqual(
        listed.map(({ uri }) => uri),
        [`mail://${who}`],
      );
      const read = await offer.readResource(`mail://${who}`, caller);
      assert.equal(read?.contents[0]?.["text"], `secret of ${who}`);
      assert.equal(await offer.readResource(`mail://${other}`, caller), undefined);
      const person = principal.person ?? principal.id;
      const prompts = offer.prompts.list(person).map(({ definition }) => definition.name);
      assert.deepEqual(prompts, [`prompt_of_${who}`]);
      assert.equal(offer.prompts.get(`prompt_of_${other}`, person), undefined);
      const said = offer.instructions.list(undefined, person).map(({ text }) => text);
      assert.deepEqual(said, [`For ${who}`]);
      const searching = new Caller(principal, {}, new Profile("s", { search: true }));
      const found = await call(gateway, "search_tools", searching, { query: "work mailbox" });
      assert.match(found, new RegExp(`only_${who}`));
      assert.doesNotMatch(found, new RegExp(other));
    }
    // Nobody else finds anything of theirs: other people, programs, those who ask for no person.
    const nobody: Principal = { id: "token x", scopes: ["tools"] };
    for (const principal of [nobody, OWNER, ANYONE, { id: "bus plugin" }]) {
      const names = await toolsOf(gateway, principal);
      assert.deepEqual(
        names.filter((name) => name !== "log_in_to_mail"),
        [],
        principal.id,
      );
      assert.deepEqual(await offer.resources.list(principal), []);
    }
    assert.deepEqual(offer.tools.list(), []);
    assert.deepEqual(offer.prompts.list(), []);
    assert.deepEqual(offer.instructions.list(), []);
    const sessions = rig.server.server.of("initialize").map(({ headers }) => headers.authorization);
    const known = sessions.filter((header) => header !== undefined);
    assert.deepEqual(known.toSorted(), ["Bearer token-of-ada", "Bearer token-of-bob"]);
  });

  it("knows a person who calls, reads or gets a prompt without a list before", async () => {
    await using rig = await Rig.open();
    await rig.logIn(ADA, "ada");
    {
      await using gateway = await rig.gateway();
      await toolsOf(gateway, ADA);
      await until(async () => (await gateway.offer.resources.list(ADA)).length > 0);
    }
    const caller = new Caller(ADA);
    {
      await using gateway = await rig.gateway();
      assert.equal(await call(gateway, "work", caller), "done for ada");
    }
    await using gateway = await rig.gateway();
    const read = await gateway.offer.readResource("mail://ada", caller);
    assert.equal(read?.contents[0]?.["text"], "secret of ada");
  });

  it("remembers the lists of each person for that person only", async () => {
    await using rig = await Rig.open();
    await rig.logIn(ADA, "ada");
    {
      await using gateway = await rig.gateway();
      await toolsOf(gateway, ADA);
    }
    rig.server.people.clear();
    await using gateway = await rig.gateway();
    assert.deepEqual(await toolsOf(gateway, ADA_TOO), ["work", "only_ada"]);
    assert.deepEqual(await toolsOf(gateway, BOB), ["log_in_to_mail"]);
  });

  it("answers with a link to our own page, and the next call works", async () => {
    await using rig = await Rig.open();
    await using gateway = await rig.gateway();
    assert.deepEqual(await toolsOf(gateway, ADA), ["log_in_to_mail"]);
    const refused = await call(gateway, "log_in_to_mail", new Caller(ADA));
    assert.match(refused, /Open https:\/\/gateway\.example\/logins#mail, log in, then repeat/);
    assert.ok(!refused.includes(rig.issuer.url));
    await rig.logIn(ADA, "ada");
    assert.match(await call(gateway, "log_in_to_mail", new Caller(ADA)), /is logged in to 'mail'/);
    await until(async () => (await toolsOf(gateway, ADA)).includes("only_ada"));
    assert.deepEqual(await toolsOf(gateway, ADA), ["work", "only_ada"]);
    assert.equal(await call(gateway, "work", new Caller(ADA)), "done for ada");
    assert.deepEqual(await toolsOf(gateway, BOB), ["log_in_to_mail"]);
  });

  it("names the command where there is no gateway", async () => {
    await using rig = await Rig.open();
    await using gateway = await rig.gateway(false);
    assert.deepEqual(await toolsOf(gateway, OWNER), ["log_in_to_mail"]);
    const refused = await call(gateway, "log_in_to_mail", new Caller(OWNER));
    assert.match(refused, /Run `trunkline server login mail`, log in, then repeat/);
  });

  it("names the command, too, to the owner of a gateway only", async () => {
    await using rig = await Rig.open();
    await using gateway = await rig.gateway();
    const asked = async (principal: Principal): Promise<string> => {
      await toolsOf(gateway, principal);
      return await call(gateway, "log_in_to_mail", new Caller(principal));
    };
    assert.match(await asked(OWNER), /logins#mail, or run `trunkline server login mail`, log in/);
    assert.doesNotMatch(await asked(ADA), /trunkline server/);
  });

  it("asks by -32042 in the middle of a call, and tells when the person has logged in", async () => {
    await using rig = await Rig.open();
    await rig.logIn(ADA, "ada", "short");
    await using gateway = await rig.gateway();
    await toolsOf(gateway, ADA);
    rig.server.people.delete("short");
    const answers = { "elicitation/create": () => assert.fail("it is asked by an error") };
    const caller = new Caller(ADA, { answers });
    const fault = await gateway.offer.tools.call("work", {}, caller).catch((e: unknown) => e);
    assert.ok(fault instanceof ToolFault);
    assert.equal(fault.code, -32042);
    const [page] = (fault.data as { elicitations: Record<string, unknown>[] }).elicitations;
    assert.equal(page?.["mode"], "url");
    assert.equal(page?.["url"], "https://gateway.example/logins#mail");
    assert.deepEqual(caller.pagesDone, []);
    await rig.logIn(ADA, "ada", "new");
    await until(() => caller.pagesDone.length > 0);
    assert.deepEqual(caller.pagesDone, [page?.["elicitationId"]]);
    assert.equal(await call(gateway, "work", new Caller(ADA)), "done for ada");
    assert.deepEqual(rig.server.calls, ["ada"]);
  });

  it("asks by input_required where calls have rounds, and the call goes on", async () => {
    await using rig = await Rig.open();
    await rig.logIn(ADA, "ada", "short");
    await using gateway = await rig.gateway();
    await toolsOf(gateway, ADA);
    rig.server.people.delete("short");
    const meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    let action = "decline";
    const answers = {
      "elicitation/create": async () => {
        if (action === "accept") await rig.logIn(ADA, "ada", "new");
        return { action };
      },
    };
    const caller = new Caller(ADA, { meta, answers });
    assert.match(await call(gateway, "work", caller), /Open https:\/\/gateway\.example/);
    action = "accept";
    assert.equal(await call(gateway, "work", caller), "done for ada");
    assert.deepEqual(caller.asked.at(-1)?.params, {
      mode: "url",
      url: "https://gateway.example/logins#mail",
      message: "Log in to 'mail' as yourself.",
    });
    assert.deepEqual(rig.server.calls, ["ada"]);
  });

  it("sends nothing to a server that somebody has to log in to first", async () => {
    await using rig = await Rig.open();
    await using gateway = await rig.gateway();
    await toolsOf(gateway, ADA);
    const before = rig.server.server.exchanges.length;
    for (let times = 0; times < 3; times++) await call(gateway, "log_in_to_mail", new Caller(ADA));
    assert.equal(rig.server.server.exchanges.length, before);
  });

  it("writes no secret in clear, and tells of each person's login to nobody else", async () => {
    await using rig = await Rig.open();
    await rig.logIn(ADA, "ada");
    await rig.logIn(BOB, "bob");
    assert.deepEqual(
      (await rig.logins.listOf()).map(({ name, person }) => [person, name]),
      [
        ["token ada", "mail"],
        [BOB.id, "mail"],
      ],
    );
    for (const name of await readdir(rig.data)) {
      const text = await readFile(join(rig.data, name), "latin1");
      assert.ok(!text.includes("token-of-"), name);
    }
    const { issuer } = await rig.logins.ofPerson("token ada", "mail", rig.settings).state();
    assert.equal(issuer, rig.issuer.url);
    const elsewhere = { ...rig.settings, oauth: { issuer: "https://other.example" } };
    for (const store of [
      rig.logins.ofPerson("token ad", "mail", rig.settings),
      rig.logins.ofPerson("token ada", "mails", rig.settings),
      rig.logins.ofPerson("token ada", "mail", { ...rig.settings, url: `${rig.server.url}/x` }),
      rig.logins.ofPerson("token ada", "mail", elsewhere),
      rig.logins.of("mail", new URL(rig.server.url)),
    ]) {
      assert.equal(await store.read(), undefined);
    }
  });

  it("ends the logins of a person who has no token left", async () => {
    await using rig = await Rig.open();
    await rig.logIn(ADA, "ada");
    await rig.logIn(BOB, "bob");
    await rig.logIn(OWNER, "olga");
    const token = { id: "a1", name: "a", sha256: "", created: "", scopes: [], person: "ada" };
    const people = async () => (await rig.logins.listOf()).map(({ person }) => person);
    assert.deepEqual(await rig.logins.endTokenless([{ ...token, id: "a2" }], "owner"), []);
    assert.equal((await people()).length, 3);
    await rig.logins.endTokenless([{ ...token, person: "bob" }], "owner");
    // Whoever comes without access tokens has lost none.
    assert.deepEqual(await people(), [BOB.id, OWNER.id]);
    assert.equal(await rig.logins.ofPerson("token ada", "mail", rig.settings).read(), undefined);
  });
});
