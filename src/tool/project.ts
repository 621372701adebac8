/** How the calls of a tool say which project they are about. */
export interface ProjectUse {
  /** The argument that names its folder. */
  readonly argument?: string;
}

/** What a call is about. */
export interface Project {
  /** The folder, by its real path. Undefined where nobody says which, or several may be meant. */
  readonly folder?: string | undefined;
  /** Every folder that may be meant, by their real paths. */
  readonly folders: readonly string[];
}
