/** One thing that a specification asks for. `test/requirements/<document>.ts` lists them. */
export interface Requirement {
  /** The heading in the document under which it stands. */
  readonly section: string;
  readonly behaviour: string;
}

export const requirement = (section: string, behaviour: string): Requirement => ({
  section,
  behaviour,
});

/**
 * Says which requirements a test shows to be met, by their names in `test/requirements`.
 * `requirements.test.ts` fails for a requirement that no test cites, and for a name that no document has.
 */
export function covers(..._requirements: [string, ...string[]]): void {}
