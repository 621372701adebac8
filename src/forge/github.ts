import { TrunklineError } from "../base/errors.ts";
import { type ForgeHttp, type Json, webPage } from "./forge-http.ts";
import type { Forge, NewLines, NewPullRequest, PullRequest } from "./forge.ts";

/** GitHub's REST API, version 2022-11-28: "Pulls" and "Repositories". */
export class GitHub implements Forge {
  protected readonly http: ForgeHttp;
  protected readonly repository: string;
  readonly #owner: string;

  constructor(http: ForgeHttp, owner: string, repository: string) {
    this.http = http;
    this.#owner = owner;
    this.repository = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(repository)}`;
  }

  static headersFor(token: string): Readonly<Record<string, string>> {
    return {
      accept: "application/vnd.github+json",
      authorization: `Bearer ${token}`,
      "x-github-api-version": "2022-11-28",
    };
  }

  async defaultBranch(): Promise<string> {
    const { default_branch } = (await this.http.call("GET", this.repository)) as Json;
    return String(default_branch);
  }

  async get(number: number): Promise<PullRequest | undefined> {
    return read(await this.http.find(`${this.repository}/pulls/${number}`));
  }

  async find(head: string, _base: string): Promise<PullRequest | undefined> {
    const query = new URLSearchParams({ state: "all", head: `${this.#owner}:${head}` });
    const listed = await this.http.call("GET", `${this.repository}/pulls?${query.toString()}`);
    // GitHub ignores a filter that it does not understand, and lists all pull requests.
    const fitting = (Array.isArray(listed) ? (listed as Json[]) : []).filter(
      (each) => (each.head as Json | undefined)?.ref === head,
    );
    return read(fitting.find(({ state }) => state === "open") ?? fitting[0]);
  }

  create({ isDraft, ...request }: NewPullRequest): Promise<PullRequest> {
    return this.send({ ...request, draft: isDraft });
  }

  protected async send(body: Json): Promise<PullRequest> {
    return requirePullRequest(read(await this.http.call("POST", `${this.repository}/pulls`, body)));
  }

  async describe(number: number, body: string): Promise<void> {
    await this.http.call("PATCH", `${this.repository}/pulls/${number}`, { body });
  }
}

/** The pull request in an answer of GitHub, or of Gitea, which has the same shape. */
export function read(answer: unknown): PullRequest | undefined {
  const { number, html_url, state, body } = (answer ?? {}) as Json;
  if (typeof number !== "number") return undefined;
  const text = typeof body === "string" ? body : "";
  return { number, url: webPage(html_url), isOpen: state === "open", body: text };
}

/** Reads the answer to a creation. Throws if it names no pull request. */
export function requirePullRequest(request: PullRequest | undefined): PullRequest {
  if (request !== undefined) return request;
  throw new Error("the forge did not say which request it has created");
}

const THREADS = `query($owner: String!, $name: String!, $number: Int!, $after: String) {
  repository(owner: $owner, name: $name) { pullRequest(number: $number) {
    reviewThreads(first: 100, after: $after) {
      pageInfo { hasNextPage endCursor }
      nodes { id isResolved comments(first: 1) { nodes { databaseId } } }
    }
  } }
}`;

const RESOLVE = `mutation($id: ID!) { resolveReviewThread(input: { threadId: $id }) { thread { id } } }`;
const UNRESOLVE = `mutation($id: ID!) { unresolveReviewThread(input: { threadId: $id }) { thread { id } } }`;

const MOST_PAGES = 100;

/**
 * The review comments of a pull request. Comments come from GitHub's REST API; only its GraphQL API knows
 * threads, and whether they are resolved.
 */
export class GitHubReviews {
  readonly #rest: ForgeHttp;
  readonly #graphql: ForgeHttp;
  readonly #names: { readonly owner: string; readonly name: string; readonly number: number };
  readonly #pull: string;

  /** `graphql` has the base URL that `/graphql` is at. */
  constructor(
    rest: ForgeHttp,
    graphql: ForgeHttp,
    { owner, repository: name, number }: { owner: string; repository: string; number: number },
  ) {
    this.#rest = rest;
    this.#graphql = graphql;
    this.#names = { owner, name, number };
    this.#pull = `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/pulls/${number}`;
  }

  comments(): Promise<unknown[]> {
    return this.#rest.list(`${this.#pull}/comments?per_page=100`);
  }

  /** The nodes of `reviewThreads`, with the first comment of each. */
  async threads(): Promise<unknown[]> {
    const nodes: unknown[] = [];
    let after: unknown = null;
    for (let page = 0; page < MOST_PAGES; page++) {
      const data = await this.#query(THREADS, { ...this.#names, after });
      const { pullRequest } = (data.repository ?? {}) as Json;
      const { reviewThreads } = (pullRequest ?? {}) as Json;
      const { nodes: more, pageInfo } = (reviewThreads ?? {}) as Json;
      for (const node of Array.isArray(more) ? (more as unknown[]) : []) nodes.push(node);
      const { hasNextPage, endCursor } = (pageInfo ?? {}) as Json;
      if (hasNextPage !== true) break;
      after = endCursor;
    }
    return nodes;
  }

  /** Gives the id of the new comment. */
  async reply(comment: string, body: string): Promise<string> {
    const path = `${this.#pull}/comments/${encodeURIComponent(comment)}/replies`;
    const { id } = (await this.#rest.call("POST", path, { body })) as Json;
    return String(id);
  }

  async head(): Promise<string> {
    const { head } = (await this.#rest.call("GET", this.#pull)) as Json;
    return String((head as Json | undefined)?.sha);
  }

  /** Comments on lines as a commit has them; without a line, on the file. */
  async open(
    commit: string,
    { path, side, line: start, end = start }: NewLines,
    body: string,
  ): Promise<void> {
    const on = side === "old" ? "LEFT" : "RIGHT";
    const range = start === end ? {} : { start_line: start, start_side: on };
    const lines = end === undefined ? { subject_type: "file" } : { line: end, side: on, ...range };
    await this.#rest.call("POST", `${this.#pull}/comments`, {
      ...{ body, commit_id: commit, path },
      ...lines,
    });
  }

  async resolve(thread: string, isResolved: boolean): Promise<void> {
    await this.#query(isResolved ? RESOLVE : UNRESOLVE, { id: thread });
  }

  /** GraphQL answers 200 to what it refuses. */
  async #query(query: string, variables: Json): Promise<Json> {
    const answer = await this.#graphql.call("POST", "/graphql", { query, variables });
    const { data, errors } = answer as { data?: Json; errors?: { message?: unknown }[] };
    const [first] = Array.isArray(errors) ? errors : [];
    if (first !== undefined) {
      const says = String(first.message).slice(0, 300);
      throw new TrunklineError("unavailable", `GitHub does not answer: ${says}`);
    }
    return data ?? {};
  }
}
