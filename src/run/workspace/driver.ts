/** The system user who owns the files of a workspace. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

export interface TreeRequest {
  /** Read-only layers with which the tree begins, the topmost first. */
  readonly layers: readonly string[];
  /** The folder of this workspace, with its earlier changes. */
  readonly folder: string;
  readonly owner: FileOwner | undefined;
}

/** A way to make a writable tree that begins as a copy of another. */
export interface WorkspaceDriver {
  readonly name: "overlay" | "reflink" | "copy";
  /** Creates the tree, or makes it available again. Returns its path. */
  open(request: TreeRequest): Promise<string>;
  /**
   * The folder on disk with the files that were added in a workspace, after it is closed. Our own user
   * owns them then, as it owns the files of layers.
   */
  changesOf(folder: string, owner: FileOwner | undefined): Promise<string>;
  /** Releases mounts; the changes stay in the folder. */
  close(folder: string): Promise<void>;
}
