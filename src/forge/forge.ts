/** The supported forges. Forgejo and Codeberg have Gitea's API. */
export type ForgeKind = "github" | "gitlab" | "gitea";

/** A pull request, or a merge request as GitLab calls it. */
export interface PullRequest {
  readonly number: number;
  /** The URL of its page. */
  readonly url: string;
  readonly isOpen: boolean;
  /** The description, as Markdown. */
  readonly body: string;
}

export interface NewPullRequest {
  /** The branch that is offered, in the same repository. */
  readonly head: string;
  /** The branch that it should be merged into. */
  readonly base: string;
  readonly title: string;
  readonly body: string;
  readonly isDraft: boolean;
}

/** The pull requests of one repository. */
export interface Forge {
  defaultBranch(): Promise<string>;
  get(number: number): Promise<PullRequest | undefined>;
  /** The newest pull request of a branch, open or closed. */
  find(head: string, base: string): Promise<PullRequest | undefined>;
  create(request: NewPullRequest): Promise<PullRequest>;
  describe(number: number, body: string): Promise<void>;
}
