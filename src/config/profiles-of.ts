import type { Profiles } from "../tool/profile/profiles.ts";
import type { Config } from "./config.ts";

/** The configured profiles. Most people have none, so their code is loaded here. */
export async function profilesOf({ profiles }: Pick<Config, "profiles">): Promise<Profiles> {
  const { Profiles } = await import("../tool/profile/profiles.ts");
  return new Profiles(profiles);
}
