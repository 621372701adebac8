import { toolOverride } from "./override.ts";
import type { ProfileSettings } from "../../config/schema/schema.gen.ts";
import { Profile, type ProfileSubject } from "./profile.ts";

/** The configured profiles, in their order. */
export class Profiles {
  readonly #all: ReadonlyMap<string, Profile>;
  readonly #missing = new Map<string, Profile>();

  constructor(table: Readonly<Record<string, ProfileSettings>>) {
    const entries = Object.entries(table);
    this.#all = new Map(entries.map(([name, settings]) => [name, profileOf(name, settings)]));
  }

  get names(): readonly string[] {
    return [...this.#all.keys()];
  }

  get(name: string): Profile | undefined {
    return this.#all.get(name);
  }

  /**
   * Chooses the profile of a client: the one that it was given by name (by its token, or by `trunkline mcp
   * --profile`), else the first whose `for` matches, else none, and the client sees everything. A name that
   * is not configured offers nothing: whoever removed a profile did not mean to give access to more.
   */
  choose(subject: ProfileSubject): Profile | undefined {
    const name = subject.principal.profile ?? subject.named;
    if (name !== undefined) return this.#all.get(name) ?? this.#nothing(name);
    for (const profile of this.#all.values()) if (profile.fits(subject)) return profile;
    return undefined;
  }

  #nothing(name: string): Profile {
    const problem =
      `There is no profile '${name}' in the configuration, so nothing is offered. ` +
      `Add it to \`profiles\`, or use one of: ${this.names.join(", ") || "none"}`;
    const make = (): Profile => new Profile(name, { servers: { allow: [] } }, undefined, problem);
    return this.#missing.getOrInsertComputed(name, make);
  }
}

/** A profile with its overrides of tools. */
export function profileOf(name: string, settings: ProfileSettings): Profile {
  const changes = Object.entries(settings.tools?.change ?? {});
  return new Profile(
    name,
    settings,
    new Map(changes.map(([tool, change]) => [tool, toolOverride(change)])),
  );
}
