/** A user of the system whom the files of a workspace are to belong to. */
export interface FileOwner {
  readonly uid: number;
  readonly gid: number;
}

export interface TreeRequest {
  /** What the tree begins with, the uppermost first: layers that nobody changes. */
  readonly layers: readonly string[];
  /** A folder for this workspace alone. What was changed in it before is still there. */
  readonly folder: string;
  readonly owner: FileOwner | undefined;
}

/** A way to have a tree of one's own that begins as a copy of another. */
export interface WorkspaceDriver {
  readonly name: "overlay" | "reflink" | "copy";
  /** Makes the tree, or makes it available again. Returns where it is. */
  open(request: TreeRequest): Promise<string>;
  /** Lets go of what keeps the system busy; what was changed stays in the folder. */
  close(folder: string): Promise<void>;
}
