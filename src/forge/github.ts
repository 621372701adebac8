import type { Forge, NewPullRequest, PullRequest } from "./forge.ts";
import { type ForgeHttp, type Json, webPage } from "./forge-http.ts";

/** GitHub's REST API, version 2022-11-28: "Pulls" and "Repositories". */
export class GitHub implements Forge {
  readonly #http: ForgeHttp;
  readonly #owner: string;
  readonly #repository: string;

  constructor(http: ForgeHttp, owner: string, repository: string) {
    this.#http = http;
    this.#owner = owner;
    this.#repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}`;
  }

  static headersFor(token: string): Readonly<Record<string, string>> {
    return {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "x-github-api-version": "2022-11-28",
    };
  }

  async defaultBranch(): Promise<string> {
    const { default_branch } = (await this.#http.call("GET", this.#repository)) as Json;
    return String(default_branch);
  }

  async get(number: number): Promise<PullRequest | undefined> {
    return read(await this.#http.find(`${this.#repository}/pulls/${number}`));
  }

  async find(head: string): Promise<PullRequest | undefined> {
    const query = new URLSearchParams({ state: "all", head: `${this.#owner}:${head}` });
    const listed = await this.#http.call("GET", `${this.#repository}/pulls?${query.toString()}`);
    // GitHub ignores a filter that it does not understand, and lists all pull requests.
    const fitting = (Array.isArray(listed) ? (listed as Json[]) : []).filter(
      (each) => (each.head as Json | undefined)?.ref === head,
    );
    return read(fitting.find(({ state }) => state === "open") ?? fitting[0]);
  }

  async create({ isDraft, ...request }: NewPullRequest): Promise<PullRequest> {
    const body = { ...request, draft: isDraft };
    return need(read(await this.#http.call("POST", `${this.#repository}/pulls`, body)));
  }

  async describe(number: number, body: string): Promise<void> {
    await this.#http.call("PATCH", `${this.#repository}/pulls/${number}`, { body });
  }
}

/** Gitea answers in the same shape. */
export function read(answer: unknown): PullRequest | undefined {
  const { number, html_url, state, body } = (answer ?? {}) as Json;
  if (typeof number !== "number") return undefined;
  const text = typeof body === "string" ? body : "";
  return { number, url: webPage(html_url), isOpen: state === "open", body: text };
}

/** Reads the answer to a creation. Throws if it names no pull request. */
export function need(request: PullRequest | undefined): PullRequest {
  if (request !== undefined) return request;
  throw new Error("the forge did not say which request it has created");
}
