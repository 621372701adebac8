/** A comment of a review that is not dealt with yet. */
export interface ReviewComment {
  readonly id: string;
  /** Absolute. */
  readonly path: string;
  readonly line?: number;
  readonly comment: string;
  readonly hasSuggestion: boolean;
}

/** As much of the reviews of a workspace as commands need. */
export interface ReviewComments {
  /** The open ones, of the repository that the folder is in. */
  open(folder: string): Promise<readonly ReviewComment[]>;
  /** What a file holds once the suggestion is in it. Throws with the reason where it does not fit. */
  suggested(folder: string, id: string): Promise<{ readonly path: string; readonly text: string }>;
  /** Says in the thread that it is done, for a person to look at. */
  done(folder: string, id: string, text: string): Promise<void>;
}
