import type { Forge, NewPullRequest, PullRequest } from "./forge.ts";
import type { ForgeHttp, Json } from "./forge-http.ts";
import { need, read } from "./github.ts";

/** Gitea's REST API v1, which Forgejo has, too: the calls of "repository". */
export class Gitea implements Forge {
  readonly #http: ForgeHttp;
  readonly #repository: string;

  constructor(http: ForgeHttp, owner: string, repository: string) {
    this.#http = http;
    this.#repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}`;
  }

  static headersFor(token: string): Readonly<Record<string, string>> {
    return { authorization: `token ${token}` };
  }

  async defaultBranch(): Promise<string> {
    const { default_branch } = (await this.#http.call("GET", this.#repository)) as Json;
    return String(default_branch);
  }

  async get(number: number): Promise<PullRequest | undefined> {
    return read(await this.#http.find(`${this.#repository}/pulls/${number}`));
  }

  /** Finds it by both branches, because Gitea's list has no filter for one of them. Since Gitea 1.22. */
  async find(head: string, base: string): Promise<PullRequest | undefined> {
    const path = `${encodeURIComponent(base)}/${head.split("/").map(encodeURIComponent).join("/")}`;
    return read(await this.#http.find(`${this.#repository}/pulls/${path}`));
  }

  /** Gitea has no field for a draft: titles that begin with `WIP:` are drafts. */
  async create({ isDraft, title, ...request }: NewPullRequest): Promise<PullRequest> {
    const body = { ...request, title: isDraft ? `WIP: ${title}` : title };
    return need(read(await this.#http.call("POST", `${this.#repository}/pulls`, body)));
  }

  async describe(number: number, body: string): Promise<void> {
    await this.#http.call("PATCH", `${this.#repository}/pulls/${number}`, { body });
  }
}
