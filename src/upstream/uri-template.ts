/** How much may be spent on finding out which of many templates a URI fits. */
export interface Effort {
  left: number;
}

/** One state of the matcher: the characters of a URI that it consumes. */
interface MatchState {
  readonly fits: (character: string) => boolean;
  /** Further characters may stay in this state. */
  readonly repeats: boolean;
  /** This many states, from this one on, may be skipped. */
  readonly skip: number;
}

const LONGEST = 2_000;

const ANY = (): boolean => true;
const NO_SLASH = (character: string): boolean => character !== "/";
const IN_PATH = (character: string): boolean => character !== "?" && character !== "#";
const IN_SEGMENT = (character: string): boolean => NO_SLASH(character) && IN_PATH(character);

/**
 * Tells whether URIs could have been made from a template (RFC 6570, section 1.2). Templates come from servers
 * that may mean harm, so they are not made into regular expressions, some of which never end: all
 * ways to fit are followed together, one character after the other.
 */
export class UriTemplate {
  readonly #states: MatchState[] = [];
  readonly #isTooLong: boolean;

  constructor(template: string) {
    this.#isTooLong = template.length > LONGEST;
    if (this.#isTooLong) return;
    for (const part of template.split(/(\{[^{}]*\})/)) {
      if (part.startsWith("{") && part.endsWith("}")) this.#expression(part.slice(1, -1));
      else for (const character of part) this.#literal(character);
    }
  }

  /** False, too, when the effort does not suffice to tell. */
  fits(uri: string, effort: Effort): boolean {
    if (this.#isTooLong) return false;
    let reached = this.#from(0, new Set());
    for (const character of uri) {
      effort.left -= reached.size;
      if (effort.left < 0 || reached.size === 0) return false;
      const next = new Set<number>();
      for (const index of reached) {
        const place = this.#states[index];
        if (place?.fits(character) !== true) continue;
        if (place.repeats) next.add(index);
        this.#from(index + 1, next);
      }
      reached = next;
    }
    return reached.has(this.#states.length);
  }

  #expression(text: string): void {
    switch (text.charAt(0)) {
      case "+":
      case "#":
        this.#several(ANY);
        break;
      case "?":
      case "&":
      case ";":
        this.#several(NO_SLASH, 1);
        break;
      case "/": {
        const isOpen = text.endsWith("*");
        const count = isOpen ? 1 : text.split(",").length;
        for (let each = 0; each < count; each++) {
          this.#literal("/", 2);
          this.#several(isOpen ? IN_PATH : IN_SEGMENT);
        }
        break;
      }
      case ".":
        this.#literal(".", 2);
        this.#several(IN_SEGMENT);
        break;
      default:
        this.#several(IN_SEGMENT);
    }
  }

  #literal(character: string, skip = 0): void {
    this.#states.push({ fits: (each) => each === character, repeats: false, skip });
  }

  #several(fits: MatchState["fits"], skip = 0): void {
    this.#states.push({ fits, repeats: true, skip });
  }

  /** Adds a state, and those that are reached by skipping states. */
  #from(index: number, reached: Set<number>): Set<number> {
    for (let at = index; !reached.has(at);) {
      reached.add(at);
      at += this.#states[at]?.skip ?? 0;
    }
    return reached;
  }
}
