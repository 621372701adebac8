import { TrunklineError } from "../base/errors.ts";
import type { ForgeHttp, Json } from "./forge-http.ts";

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
  readonly #owner: string;
  readonly #name: string;
  readonly #number: number;

  /** `graphql` has the base URL that `/graphql` is at. */
  constructor(
    rest: ForgeHttp,
    graphql: ForgeHttp,
    { owner, repository, number }: { owner: string; repository: string; number: number },
  ) {
    this.#rest = rest;
    this.#graphql = graphql;
    this.#owner = owner;
    this.#name = repository;
    this.#number = number;
  }

  get #pull(): string {
    const repository = `/repos/${encodeURIComponent(this.#owner)}/${encodeURIComponent(this.#name)}`;
    return `${repository}/pulls/${this.#number}`;
  }

  comments(): Promise<unknown[]> {
    return this.#rest.list(`${this.#pull}/comments?per_page=100`);
  }

  /** The nodes of `reviewThreads`, with the first comment of each. */
  async threads(): Promise<unknown[]> {
    const nodes: unknown[] = [];
    let after: unknown = null;
    for (let page = 0; page < MOST_PAGES; page++) {
      const names = { owner: this.#owner, name: this.#name, number: this.#number };
      const data = await this.#query(THREADS, { ...names, after });
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
