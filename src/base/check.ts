/** What is wrong with a value, and where. */
export interface Problem {
  /** From the value that was checked down to the one that is wrong. */
  readonly path: (string | number)[];
  /** Completes a sentence that begins with the field's name: "must be a string". */
  readonly says: string;
}

/** Looks at a value and says the first thing that is wrong with it, or nothing. */
export type Check = (value: unknown) => Problem | undefined;

/** A problem in words: `'params.cwd' must be an absolute path`. */
export function describeProblem(root: string, problem: Problem): string {
  let name = root;
  for (const step of problem.path) {
    if (typeof step === "number") name += `[${step}]`;
    else if (/^[\w$-]+$/.test(step)) name += name === "" ? step : `.${step}`;
    else name += `[${JSON.stringify(step)}]`;
  }
  return `'${name}' ${problem.says}`;
}
