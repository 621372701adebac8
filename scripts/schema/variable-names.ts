/** Names that emitted code uses for something else, and words that cannot be names. */
const TAKEN: readonly string[] = (
  "value Array Number Object URL undefined process Record " +
  "isObject within countCharacters isAbsolutePath isUuid isUri closest unknownKey " +
  "arguments await break case catch class const continue debugger default delete do else enum eval " +
  "export extends false finally for function if implements import in instanceof interface let new " +
  "null package private protected public return static super switch this throw true try typeof " +
  "var void while with yield"
).split(" ");

/** Hands out variable names, each once in a function, so that no scope shadows another. */
export class VariableNames {
  readonly #taken = new Set(TAKEN);

  /** A name as close to the wish as possible. */
  add(wish: string): string {
    const word = wish.replace(/\W+(\w?)/g, (_, next: string) => next.toUpperCase());
    const base = /^[A-Za-z_]/.test(word) ? word : `_${word}`;
    // Emitted functions have such names; a variable must not shadow one.
    const safe = /^(?:check|fits|pattern)[A-Z\d]/.test(base) ? `_${base}` : base;
    let name = safe;
    for (let number = 2; this.#taken.has(name); number++) name = `${safe}${number}`;
    this.#taken.add(name);
    return name;
  }
}
