import type { ServerGit } from "../../git/server/server-git.ts";

/** An open workspace. */
export class Workspace {
  /** The folder of everything that belongs to it. */
  readonly folder: string;
  /** The folder of its files. */
  readonly tree: string;
  /** The home of the session's programs, if set-up has left one. */
  readonly home: string | undefined;
  /** Git with our own git folder, on those files. */
  readonly git: ServerGit;
  /** Whether it was created now, not opened again. */
  readonly isNew: boolean;
  readonly #close: () => Promise<void>;
  #closing: Promise<void> | undefined;

  constructor(options: {
    folder: string;
    tree: string;
    home: string | undefined;
    git: ServerGit;
    isNew: boolean;
    close: () => Promise<void>;
  }) {
    this.folder = options.folder;
    this.tree = options.tree;
    this.home = options.home;
    this.git = options.git;
    this.isNew = options.isNew;
    this.#close = options.close;
  }

  /** Releases the tree. The changes are kept for the next time. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }
}
