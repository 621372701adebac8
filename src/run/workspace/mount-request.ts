/** What `mount-main.ts` is asked for, a line of JSON each. */
export type MountRequest = { readonly id: number } & (
  | {
      readonly verb: "mount";
      /** What is below, the uppermost first; it stays as it is. */
      readonly lowers: readonly string[];
      /** A folder with `layer/upper` and `layer/work`, where changes go. */
      readonly changes: string;
      /** Where both are seen as one. */
      readonly tree: string;
      /** Whose all files are to be there; on disk they are root's. */
      readonly user?: { readonly uid: number; readonly gid: number } | undefined;
    }
  | { readonly verb: "unmount"; readonly tree: string }
);

export interface MountAnswer {
  readonly id: number;
  /** Why it could not be done. */
  readonly problem?: string;
}
